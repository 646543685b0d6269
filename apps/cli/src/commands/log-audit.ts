/** `veritrain log export | audit | anchor | gc`: a whole log read over, its anchors on chain, and the files of one's own. */
import { InvalidArgumentError, type Command } from 'commander';
import { ConfigurationError, fromHex, to0x, toHex } from '#attestation/base';
import { encodeLogExport, parseCheckpoint, type LogEntry } from '#attestation/log';
import { readTrustPolicy } from '#libs/client/judging';
import { readSecret, writeWhole } from '#libs/client/files';
import {
  collectPartials,
  createFileStore,
  createS3Store,
  exportLog,
  fetchNote,
  readEntries,
  RightEdge,
  TileReader,
  tilesOf,
  type LogFiles,
} from '#libs/log';
import { printResult, table, type OutputOptions } from '../output.js';
import { withFeeCap } from './contracts-target.js';
import { address, anchorFault, anchorsOf, chained, type ChainOptions } from './log-anchors.js';
import { logUrl, publish, publisherOf } from './log-publish.js';

interface PolicyOptions extends OutputOptions {
  readonly logPolicy: string;
}

interface AnchorOptions extends PolicyOptions, ChainOptions {
  readonly rpc: string;
  readonly key: string;
  readonly feePerGasMax?: bigint;
  readonly issuer?: string;
  readonly issuerKey?: string;
  readonly out?: string;
}

interface CollectOptions extends OutputOptions {
  readonly tiles?: string;
  readonly s3?: string;
  readonly region: string;
  readonly kept: number;
}

const policyOption = ['--log-policy <file>', 'the log, with its address, and its witnesses (tlog-policy)'] as const;
const jsonOption = ['--json', 'print one JSON document'] as const;

export function addLogAuditCommands(log: Command): void {
  log
    .command('export')
    .description('read a whole log, and write what was revoked in it for `bundle verify --log-export`')
    .requiredOption(...policyOption)
    .requiredOption('--out <file>', 'where the export is written')
    .option(...jsonOption)
    .action(async (options: PolicyOptions & { readonly out: string }) => {
      const { trusted, note, read } = await opened(options);
      const made = await exportLog(trusted.checkpoint, note, read);
      writeWhole(options.out, encodeLogExport(made));
      const { origin, size } = trusted.checkpoint;
      const shown = { origin, size, revocations: made.revocations.length, witnessedAt: trusted.witnessedAt };
      printResult(options, { ...shown, file: options.out }, () => rows(shown));
    });
  chained(
    log
      .command('audit')
      .description(
        'read a whole log, compute its root, and hold every checkpoint that was anchored on chain against it',
      )
      .requiredOption(...policyOption)
      .option('--sender <address>', 'the account that anchors for the log', address)
      .option(...jsonOption),
  ).action(async (options: PolicyOptions & ChainOptions) => {
    const audited = await audit(options);
    printResult(options, audited, () => rows({ ...audited, kinds: JSON.stringify(audited.kinds) }));
    if (!audited.ok) process.exitCode = 3;
  });
  chained(
    withFeeCap(log.command('anchor'))
      .description('write the newest checkpoint of a log on chain, by LogAnchors (contracts/SPEC.md)')
      .requiredOption(...policyOption)
      .requiredOption('--key <file>', 'secp256k1 secret of the account: 32 bytes as 0x-hexadecimal')
      .option('--issuer <name>', 'log the anchor besides, under the name by which the log knows the issuer')
      .option('--issuer-key <file>', 'Ed25519 secret of the issuer, not that of the log')
      .option('--out <file>', 'where that entry is written, as FILE.entry with FILE.proof; else as anchor')
      .option(...jsonOption),
  ).action(async (options: AnchorOptions) => {
    const shown = await anchor(options);
    printResult(options, shown, () => rows(shown));
  });
  log
    .command('gc')
    .description('delete partial tiles of a log of your own whose full ones have been there for a day')
    .option('--tiles <folder>', 'the folder of its tiles')
    .option('--s3 <url>', 'or its place in an S3-compatible store; keys as in AWS_ACCESS_KEY_ID')
    .option('--region <name>', 'of the store', 'us-east-1')
    .option('--kept <hours>', 'how long a full tile must have been there', hours, 24)
    .option(...jsonOption)
    .action(async (options: CollectOptions) => {
      const files = filesOf(options);
      const note = await files.read('checkpoint');
      if (note === null) throw setting('LOG_FILES', 'the files of a log', 'no checkpoint');
      const { size } = parseCheckpoint(new TextDecoder().decode(note));
      const collected = await collectPartials(files, size, { now: new Date(), keptMs: options.kept * 3_600_000 });
      printResult(options, { ...collected }, () => rows(collected));
    });
}

async function opened({ logPolicy }: PolicyOptions) {
  const policy = readTrustPolicy(logPolicy);
  const url = logUrl(policy);
  return { ...(await fetchNote(url, policy)), read: tilesOf(url), policy };
}

/** @throws as `readEntries`; what does not hold of an anchor is a result */
async function audit(options: PolicyOptions & ChainOptions) {
  const { trusted, read, policy } = await opened(options);
  const { checkpoint, witnessedAt } = trusted;
  const kinds: Record<string, number> = {};
  const count = ({ kind }: LogEntry): void => void (kinds[kind] = (kinds[kind] ?? 0) + 1);
  await readEntries(checkpoint, read, { edge: new RightEdge(), from: 0 }, count);
  const anchors = await anchorsOf(options, checkpoint.origin);
  const faults: string[] = [];
  for (const one of anchors) {
    const fault = await anchorFault(one, checkpoint, new TileReader(read, checkpoint.size));
    if (fault !== null) faults.push(`${fault.code}: ${fault.detail.expected}, not ${fault.detail.got}`);
  }
  return {
    ok: faults.length === 0 && (policy.quorum === null || witnessedAt !== null),
    ...{ origin: checkpoint.origin, size: checkpoint.size, root: toHex(checkpoint.root), witnessedAt, kinds },
    ...{ anchors: anchors.length, anchored: anchors.at(-1)?.size ?? 0, faults },
  };
}

const filesAt = (out = 'anchor') => ({ entry: `${out}.entry`, proof: `${out}.proof` });

async function anchor(options: AnchorOptions) {
  if (options.issuer !== undefined) publisherOf({ ...options, key: options.issuerKey });
  const { trusted } = await opened(options);
  const { origin, size, root } = trusted.checkpoint;
  const { feePerGasMax: feePerGasMaxWei } = options;
  const feeSetting = '--fee-per-gas-max; a tenth of it may be the tip';
  const [{ Wallet }, { withChain }] = await Promise.all([import('ethers'), import('../contracts/chain.js')]);
  const { anchorCheckpoint, anchorOrigin, deployLogAnchors } = await import('#libs/settlement');
  return withChain(options.rpc, options.chainId, async (provider) => {
    const signer = new Wallet(to0x(readSecret(options.key)), provider);
    const contract = options.contract ?? (await deployLogAnchors(signer, feePerGasMaxWei, feeSetting));
    const checkpoint = { origin: anchorOrigin(origin), size, root };
    const transaction = await anchorCheckpoint(signer, contract, checkpoint, { feePerGasMaxWei, feeSetting });
    const shown = { origin, size, root: toHex(root), contract, sender: signer.address, transaction };
    if (options.issuer === undefined) return shown;
    const body = { chainId: options.chainId, contract: fromHex(contract.toLowerCase()), size, root };
    const by = publisherOf({ ...options, key: options.issuerKey });
    const logged = await publish(by, 'anchor', { ...body, transaction: fromHex(transaction) }, filesAt(options.out));
    return { ...shown, index: logged.index, entry: logged.entry };
  });
}

function filesOf({ tiles, s3: url, region }: CollectOptions): LogFiles {
  if (tiles !== undefined && url === undefined) return createFileStore(tiles);
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = process.env;
  if (url !== undefined && tiles === undefined && accessKeyId !== undefined && secretAccessKey !== undefined) {
    return createS3Store({ url, region, accessKeyId, secretAccessKey });
  }
  throw setting('LOG_FILES', '--tiles, or --s3 with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY', 'something else');
}

function rows(shown: object): string {
  return table(Object.entries(shown).map(([name, value]) => [name, `${String(value)}`]));
}

function setting(code: string, expected: string, got: string): ConfigurationError {
  return new ConfigurationError(code, { expected, got, rule: 'apps/cli/README.md' });
}

function hours(text: string): number {
  if (!/^\d{1,5}$/.test(text)) throw new InvalidArgumentError('hours, a whole number');
  return Number(text);
}
