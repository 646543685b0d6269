/** `veritrain log proof | revoke`: entries of one's own, their proofs, and what is taken back. */
import { randomBytes } from 'node:crypto';
import { InvalidArgumentError, type Command } from 'commander';
import { ed25519 } from '@noble/curves/ed25519.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, ConfigurationError, ed25519Signer, fromHex, Rejection, toHex } from '#attestation/base';
import {
  entryBytesMax,
  makePublicEntry,
  type EntryBody,
  type EntryIssuer,
  type PublicKind,
  type TrustPolicy,
} from '#attestation/log';
import { readBytes, readSecret, readTrustPolicy, writeWhole } from '#libs/client';
import { fetchProof, submitEntry } from '#libs/log';
import { log as say, printResult, table, type OutputOptions } from '../output.js';

export const waitMs = 60_000;
const revocable = ['issuer', 'measurement', 'policy', 'chip', 'broker'] as const;
type Revocable = (typeof revocable)[number];

interface ProofOptions extends OutputOptions {
  readonly logPolicy: string;
  readonly out: string;
}

export interface SignedOptions extends OutputOptions {
  readonly logPolicy: string;
  readonly key: string;
  readonly issuer: string;
}

interface RevokeOptions extends SignedOptions {
  readonly what: Revocable;
  readonly id: Uint8Array;
  readonly reason: string;
  readonly from?: number;
  readonly salted?: boolean;
  readonly out: string;
}

export function addLogEntryCommands(log: Command): void {
  log
    .command('proof')
    .argument('<entry>', 'an entry that was logged')
    .description('fetch the proof of an entry from the log, and verify it')
    .requiredOption('--log-policy <file>', 'the log, with its address, and the witnesses that you trust (tlog-policy)')
    .requiredOption('--out <file>', 'where the proof is written (tlog-proof)')
    .option('--json', 'print one JSON document')
    .action(async (file: string, options: ProofOptions) => {
      const policy = readTrustPolicy(options.logPolicy);
      const found = await fetchProof(logUrl(policy), readBytes(file, entryBytesMax), policy);
      writeWhole(options.out, found.text);
      const { trusted, index } = found;
      const ok = policy.quorum === null || trusted.witnessedAt !== null;
      const shown = { ok, index, size: trusted.checkpoint.size, witnessedAt: trusted.witnessedAt, proof: options.out };
      printResult(options, shown, () => table(Object.entries(shown).map(([name, value]) => [name, `${value}`])));
      if (!ok) process.exitCode = 1;
    });
  signed(
    log
      .command('revoke')
      .description('log that a key, measurement, policy, chip or key broker is not to be relied on any more')
      .requiredOption('--what <kind>', revocable.join(', '), kindOf)
      .requiredOption('--id <hex>', 'the key, measurement, digest, chip id or account', bytesOf)
      .requiredOption('--reason <text>', 'why, for everybody to read')
      .option('--from <unix>', 'from which time; else from the beginning', wholeOf)
      .option('--salted', 'name it by a salted digest, so that only who knows the id sees what is meant')
      .requiredOption('--out <file>', 'where the entry is written; its proof beside it, with .proof'),
  ).action(async (options: RevokeOptions) => {
    const salt = options.salted === true ? new Uint8Array(randomBytes(16)) : null;
    const id = salt === null ? options.id : sha256(concatBytes(salt, options.id));
    const body = { what: options.what, id, salt, reason: options.reason, from: options.from ?? 0 };
    const logged = await publish(options, 'revocation', body, options.out);
    printResult(options, logged, () => `revoked ${options.what} ${toHex(options.id)}: entry ${logged.index}`);
  });
}

export function signed(command: Command): Command {
  return command
    .requiredOption('--log-policy <file>', 'the log, with its address, and its witnesses (tlog-policy)')
    .requiredOption('--key <file>', 'Ed25519 secret of the issuer: 32 bytes as 0x-hexadecimal')
    .requiredOption('--issuer <name>', 'the name under which the log knows that key')
    .option('--json', 'print one JSON document');
}

/**
 * Logs an entry for everybody to read, and waits until a quorum saw it. An entry file that is there is submitted again:
 * whoever was interrupted logs nothing twice.
 * @throws ConfigurationError FILE_*, LOG_URL; CollateralError, Rejection LOG_*
 */
async function publish<K extends PublicKind>(
  options: SignedOptions,
  kind: K,
  body: EntryBody<K>,
  out: string,
): Promise<{ readonly index: number; readonly entry: string; readonly proof: string }> {
  const policy = readTrustPolicy(options.logPolicy);
  const entry = await makePublicEntry(issuerOf(options), kind, body, Math.floor(Date.now() / 1000));
  writeWhole(out, entry);
  const { text, index } = await submitEntry(logUrl(policy), entry, policy, { wait: 'witnessed', withinMs: waitMs });
  writeWhole(`${out}.proof`, text);
  say(`${kind} logged at ${index}`);
  return { index, entry: out, proof: `${out}.proof` };
}

export function issuerOf({ key, issuer: name }: SignedOptions): EntryIssuer {
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

function kindOf(text: string): Revocable {
  const found = revocable.find((one) => one === text);
  if (found === undefined) throw new InvalidArgumentError(revocable.join(', '));
  return found;
}

function bytesOf(text: string): Uint8Array {
  try {
    const bytes = fromHex(text);
    if (bytes.length > 0 && bytes.length <= 64) return bytes;
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
  }
  throw new InvalidArgumentError('hexadecimal, at most 64 bytes');
}

function wholeOf(text: string): number {
  if (!/^\d{1,12}$/.test(text)) throw new InvalidArgumentError('unix seconds, a whole number');
  return Number(text);
}
