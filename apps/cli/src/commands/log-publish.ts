/** Entries for everybody to read, by commands that make what they speak of: policies, images, floors, revocations, anchors. */
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { ed25519 } from '@noble/curves/ed25519.js';
import { sha256 } from '@noble/hashes/sha2.js';
import {
  documentDigest,
  encodeDocument,
  type Advisories,
  type AppraisalPolicy,
  type GuestManifest,
} from '#attestation';
import { ConfigurationError, ed25519Signer, fromHex, toHex, utf8 } from '#attestation/base';
import {
  entryBytesMax,
  makePublicEntry,
  parseEntry,
  type EntryBody,
  type EntryIssuer,
  type PublicKind,
  type TrustPolicy,
} from '#attestation/log';
import { readTrustPolicy } from '#libs/client/judging';
import { readBytes, readSecret, writeWhole } from '#libs/client/files';
import { submitEntry } from '#libs/log';
import { log as say, type OutputOptions } from '../output.js';

export const waitMs = 60_000;
/** As an `image` entry has them, and a `policy` entry its document. */
const measurementsMost = 16;
const documentBytesMost = 3000;

export interface SignedOptions extends OutputOptions {
  readonly logPolicy: string;
  readonly key: string;
  readonly issuer: string;
}

/** Of commands that log what they make where they are asked to. */
export interface PublishOptions {
  readonly logPolicy?: string;
  readonly issuer?: string;
}

interface Published {
  readonly index: number;
  readonly entry: string;
  readonly proof: string;
}

export function publishing(command: Command): Command {
  return command
    .option('--log-policy <file>', 'log what was made: the log, with its address, and its witnesses (tlog-policy)')
    .option('--issuer <name>', 'the name under which that log knows the key');
}

/** @throws ConfigurationError LOG_ISSUER_NAME where one of the three is missing */
export function publisherOf({ logPolicy, issuer, key }: PublishOptions & { readonly key: string | undefined }) {
  if (logPolicy !== undefined && issuer !== undefined && key !== undefined) return { logPolicy, issuer, key };
  throw new ConfigurationError('LOG_ISSUER_NAME', {
    expected: '--log-policy, --issuer and the key of the issuer together',
    ...{ got: 'some of them', rule: 'apps/cli/README.md' },
  });
}

type Bodies = { readonly [K in PublicKind]: readonly [kind: K, body: EntryBody<K>] }[PublicKind];

/**
 * Logs what a command made, one entry each, as OUT.KIND.entry with OUT.KIND.proof; nothing where it was not asked to.
 * @throws ConfigurationError LOG_ISSUER_NAME; as `publish`
 */
export async function publishMade(
  options: PublishOptions,
  key: string | undefined,
  out: string,
  bodies: readonly Bodies[],
): Promise<readonly Published[]> {
  if (options.logPolicy === undefined && options.issuer === undefined) return [];
  const by = publisherOf({ ...options, key });
  const published: Published[] = [];
  for (const [at, [kind, body]] of bodies.entries()) {
    const number = bodies.filter(([other]) => other === kind).length > 1 ? `-${at + 1}` : '';
    const name = `${out}.${kind}${number}`;
    published.push(await publish(by, kind, body, { entry: `${name}.entry`, proof: `${name}.proof` }));
  }
  return published;
}

/**
 * Logs an entry for everybody to read, and waits until a quorum saw it. An entry of the same that is there is submitted
 * again: whoever was interrupted logs nothing twice.
 * @throws ConfigurationError FILE_*, LOG_URL; CollateralError, Rejection LOG_*
 */
export async function publish<K extends PublicKind>(
  options: Pick<SignedOptions, 'logPolicy' | 'key' | 'issuer'>,
  kind: K,
  body: EntryBody<K>,
  files: { readonly entry: string; readonly proof: string },
): Promise<Published> {
  const policy = readTrustPolicy(options.logPolicy);
  const entry = await entryIn(files.entry, issuerOf(options), kind, body);
  writeWhole(files.entry, entry);
  const { text, index } = await submitEntry(logUrl(policy), entry, policy, { wait: 'witnessed', withinMs: waitMs });
  writeWhole(files.proof, text);
  say(`${kind} logged at ${index}`);
  return { index, ...files };
}

async function entryIn<K extends PublicKind>(
  file: string,
  issuer: EntryIssuer,
  kind: K,
  body: EntryBody<K>,
): Promise<Uint8Array> {
  const madeAt = (at: number): Promise<Uint8Array> => makePublicEntry(issuer, kind, body, at);
  if (existsSync(file)) {
    const there = readBytes(file, entryBytesMax);
    const again = await madeAt(parseEntry(there).at);
    if (toHex(again) === toHex(there)) return there;
  }
  return madeAt(Math.floor(Date.now() / 1000));
}

export function issuerOf({ key, issuer: name }: Pick<SignedOptions, 'key' | 'issuer'>): EntryIssuer {
  const secret = readSecret(key);
  return { name, publicKey: ed25519.getPublicKey(secret), sign: ed25519Signer(secret) };
}

/** @throws ConfigurationError LOG_URL */
export function logUrl({ logs }: TrustPolicy): string {
  const url = logs.find((one) => one.url !== null)?.url;
  if (url !== undefined && url !== null) return url.replace(/\/$/, '');
  const detail = { expected: 'a log with an address in the trust policy', got: 'none', rule: 'apps/cli/README.md' };
  throw new ConfigurationError('LOG_URL', detail);
}

/** Every launch of a signed manifest; more than one entry holds go into further ones. */
export function imageBodies(manifest: GuestManifest): Bodies[] {
  const { name, flavour, tag, commit, sbomSha256, ociDigest, launch } = manifest;
  const values = [...new Set(launch.map(({ measurement }) => measurement))];
  const digest = ociDigest === undefined ? sha256(encodeDocument(manifest)) : fromHex(ociDigest);
  const said = { name: `${name}-${flavour}`, version: tag, digest, commit: fromHex(commit), sbom: fromHex(sbomSha256) };
  const parts = Array.from({ length: Math.ceil(values.length / measurementsMost) }, (_, part) =>
    values.slice(part * measurementsMost, (part + 1) * measurementsMost),
  );
  return parts.map((part) => {
    const measurements = part.map((value) => ({ kind: 'snp', value: fromHex(value) }));
    return ['image', { ...said, measurements }] as const;
  });
}

/** @param signer  Ed25519, where it was signed */
export function policyBody(policy: AppraisalPolicy, signer?: Uint8Array): Bodies {
  const document = encodeDocument(policy);
  return [
    'policy',
    {
      ...{ id: policy.id, digest: fromHex(documentDigest(policy)), validFrom: policy.notBefore },
      document: document.length <= documentBytesMost ? document : null,
      signers: signer === undefined ? [] : [signer],
    },
  ];
}

/** Ids that an entry has room for; the digest is over all of them. */
export function floorsBody(document: Advisories): Bodies {
  const ids = document.advisories.map(({ id }) => id).filter((id) => utf8(id).length <= 64);
  const digest = fromHex(documentDigest(document));
  return ['floors', { digest, date: document.issued, advisories: [...new Set(ids)].slice(0, 40) }];
}
