/** `veritrain log proof | revoke | issuer`: entries of one's own, their proofs, what is taken back, and whose key is whose. */
import { randomBytes } from 'node:crypto';
import { InvalidArgumentError, type Command } from 'commander';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { addressOfPublicKey, concatBytes, fromHex, Rejection, signRecoverable, toHex } from '#attestation/base';
import { entryBytesMax, isPublicKind, isSealedKind, issuerDigest } from '#attestation/log';
import { readTrustPolicy } from '#libs/client/judging';
import { readBytes, readSecret, writeWhole } from '#libs/client/files';
import { fetchProof } from '#libs/log';
import { printResult, table, type OutputOptions } from '../output.js';
import { logUrl, publish, type SignedOptions } from './log-publish.js';
import { publicKey } from './ids.js';

const revocable = ['issuer', 'measurement', 'policy', 'chip', 'broker'] as const;
type Revocable = (typeof revocable)[number];

interface ProofOptions extends OutputOptions {
  readonly logPolicy: string;
  readonly out: string;
}

interface IssuerOptions extends SignedOptions {
  readonly subject: string;
  readonly subjectKey: Uint8Array;
  readonly kinds: readonly string[];
  readonly days: number;
  readonly accountKey?: string;
  readonly out: string;
}

/** Whose clock is late may use its key at once. */
const skewSeconds = 300;

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
    const logged = await publish(options, 'revocation', body, { entry: options.out, proof: `${options.out}.proof` });
    printResult(options, logged, () => `revoked ${options.what} ${toHex(options.id)}: entry ${logged.index}`);
  });
  addIssuerCommand(log);
}

function addIssuerCommand(log: Command): void {
  signed(
    log
      .command('issuer')
      .description('log whose a key is, as owner of the log; with its account, for a key broker’s releases in bundles')
      .requiredOption('--subject <name>', 'whose key it is')
      .requiredOption('--subject-key <hex>', 'Ed25519 public key that signs its entries', publicKey)
      .requiredOption('--kinds <list>', 'kinds that it may log, with commas between', kindsOf)
      .option('--days <n>', 'from now on', wholeOf, 366)
      .option('--account-key <file>', 'secp256k1 secret of the key broker’s account, which signs the key')
      .requiredOption('--out <file>', 'where the entry is written; its proof beside it, with .proof'),
  ).action(async (options: IssuerOptions) => {
    const body = issuerBody(options, Math.floor(Date.now() / 1000));
    const logged = await publish(options, 'issuer', body, { entry: options.out, proof: `${options.out}.proof` });
    printResult(options, logged, () => `key of ${options.subject}: entry ${logged.index}`);
  });
}

function issuerBody({ subject: name, subjectKey: key, kinds, days, accountKey }: IssuerOptions, at: number) {
  const [validFrom, until] = [at - skewSeconds, at + days * 86_400];
  if (accountKey === undefined) return { key, name, kinds, validFrom, until, account: null };
  const secret = readSecret(accountKey);
  const address = addressOfPublicKey(secp256k1.getPublicKey(secret, false));
  const signature = signRecoverable(issuerDigest(key, validFrom, until), secret);
  return { key, name, kinds, validFrom, until, account: { address, signature } };
}

export function signed(command: Command): Command {
  return command
    .requiredOption('--log-policy <file>', 'the log, with its address, and its witnesses (tlog-policy)')
    .requiredOption('--key <file>', 'Ed25519 secret of the issuer: 32 bytes as 0x-hexadecimal')
    .requiredOption('--issuer <name>', 'the name under which the log knows that key')
    .option('--json', 'print one JSON document');
}

function kindOf(text: string): Revocable {
  const found = revocable.find((one) => one === text);
  if (found === undefined) throw new InvalidArgumentError(revocable.join(', '));
  return found;
}

function kindsOf(text: string): readonly string[] {
  const kinds = text.split(',');
  const other = kinds.find((kind) => !isSealedKind(kind) && !isPublicKind(kind));
  if (other === undefined && kinds.length <= 16) return kinds;
  throw new InvalidArgumentError(`kinds of entries, at most 16 of them; not ${other}`);
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
