/**
 * Who may have trained: every session behind a stored checkpoint has a Release by the key broker that the terms name, for
 * this job. The data owner and the provider together can look; neither can alone.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { equalBytes, fromHex, recoverAddress, toHex } from '#attestation/base';
import {
  domainSeparator,
  escrowIdOf,
  hostSecretOf,
  keysDigest,
  releaseDigest,
  type ReleasedSession,
  type Terms,
} from '#attestation/records';
import { checkpointKey, openCheckpoint } from '#libs/sealing';
import type { FaultClient } from './jobs.js';
import { dataKeyOf, filesOfProvider } from './known-secrets.js';

export interface StoredCheckpoint {
  readonly step: string;
  /** SHA-256 of the ciphertext, 0x-hexadecimal. */
  readonly blob: string;
}

/** @param site  folder of the system @returns the violations */
export async function checkGrants(
  site: string,
  { jobId, terms }: { readonly jobId: string; readonly terms: Terms },
  stored: readonly StoredCheckpoint[],
  { profile }: FaultClient,
): Promise<string[]> {
  const { chainId, settlement } = profile.chain.deployment;
  const domain = domainSeparator({ chainId, verifyingContract: fromHex(settlement.toLowerCase()) });
  const root = fromHex(readFileSync(join(site, filesOfProvider(site, 'host-secret.test-key')[0]!), 'utf8').trim());
  const hostSecret = hostSecretOf(root, escrowIdOf(terms));
  const id = fromHex(jobId);
  const key = await checkpointKey({ jobId: id, dataKey: dataKeyOf(profile), hostSecret });
  const violations: string[] = [];
  for (const { step, blob } of stored) {
    const name = blob.slice(2);
    const sealed = readFileSync(join(site, 'control-plane', 'blobs', name.slice(0, 2), name));
    const { sessions, links } = await openCheckpoint(key, id, new Uint8Array(sealed));
    const wrong = sessions.flatMap((session) => strangeGrant(session, terms, domain) ?? []);
    if (links.some(({ session }) => sessions[session] === undefined)) wrong.push('a border of no session');
    violations.push(...wrong.map((what) => `the checkpoint at step ${step} rests on ${what}`));
  }
  return violations;
}

/** @param domain  of the escrow's contract @returns what is wrong with a session's grant; null where nothing is */
export function strangeGrant(
  { binding, release, signature }: ReleasedSession,
  terms: Terms,
  domain: Uint8Array,
): string | null {
  const signer = recoverAddress(releaseDigest(domain, release), signature);
  if (!equalBytes(signer, terms.keyBroker))
    return `a grant of another broker: ${toHex(signer)}, expected ${toHex(terms.keyBroker)}`;
  if (!equalBytes(release.job, escrowIdOf(terms))) return `a grant for the escrow ${toHex(release.job)}`;
  if (!equalBytes(release.session, keysDigest(binding))) return `a grant for the session ${toHex(release.session)}`;
  return null;
}
