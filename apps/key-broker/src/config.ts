/** The data owner's settings: which data keys, under which policy, for whose results, on which chain. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import {
  ConfigurationError,
  fromHex,
  noEndorsements,
  parsePolicy,
  toHex,
  type AppraisalPolicy,
  type Endorsements,
} from '#attestation';
import { openEscrowReader, type EscrowReader } from '#libs/settlement';
import { readCollateral } from './collateral.js';

const hex = (size: number) => z.string().regex(new RegExp(`^0x[0-9a-f]{${2 * size}}$`));

const BrokerSettings = z.strictObject({
  port: z.int().min(0).max(65_535).default(0),
  host: z.string().default('127.0.0.1'),
  /** Folder of the files that `veritrain dataset seal --key` wrote; read at every release. */
  dataKeys: z.string(),
  /** The appraisal policy of the data owner, JSON. */
  policy: z.string(),
  /** A policy that sessions must meet besides, whatever their job names; read at every appraisal. */
  restrictions: z.string().optional(),
  /** secp256k1 secret that signs Appraisal and Release; file with 32 bytes hex. */
  signingKey: z.string(),
  /** Ed25519 secret that signs attestation results; file with 32 bytes hex. */
  resultKey: z.string(),
  /** X25519 keys that a job's result may be encrypted to. */
  recipients: z.array(hex(32)).min(1),
  /** Accounts whose escrows it releases keys for. */
  clients: z.array(hex(20)).min(1).max(1000),
  /** Accounts without a TEE that may have the keys for jobs whose assurance is zk; they see the data. */
  provers: z.array(hex(20)).max(1000).default([]),
  settlement: z.strictObject({ chainId: z.int().min(1), contract: hex(20), registry: hex(20) }),
  /** JSON-RPC endpoint of that chain: what it says of an escrow is believed. */
  rpcUrl: z.url({ protocol: /^https?$/ }),
  /** Blocks on top of the one that opened an escrow. */
  confirmations: z.int().min(0).max(1000).default(0),
  /** Different jobs that may have one data set's key. */
  jobsPerDataSet: z.int().min(1).max(1_000_000).default(100),
  /** Folder of revocation lists, reference manifests and other endorsements; read at every release. */
  collateral: z.string().optional(),
  /** How long an appraisal may be relied on, seconds. */
  validForSeconds: z.int().min(5).max(604_800).default(86_400),
  /** Append-only record of every decision, JSON lines. */
  journal: z.string(),
});

const DataKeyFile = z.strictObject({ datasetId: hex(32), key: hex(32) });

export interface BrokerConfig {
  readonly host: string;
  readonly port: number;
  /** The key of a data set, or null when this broker has none. @throws ConfigurationError BROKER_CONFIG on a bad file */
  dataKey(datasetId: Uint8Array): Uint8Array | null;
  readonly policyFile: Uint8Array;
  /** What sessions must meet besides; absent or null: nothing. @throws ConfigurationError BROKER_CONFIG */
  restrictions?(): AppraisalPolicy | null;
  readonly signingSecret: Uint8Array;
  readonly resultSecret: Uint8Array;
  readonly recipients: ReadonlySet<string>;
  /** Accounts whose escrows count, hexadecimal without 0x. */
  readonly clients: ReadonlySet<string>;
  /** Accounts of provers without a TEE, hexadecimal without 0x; absent: none. */
  readonly provers?: ReadonlySet<string>;
  readonly settlement: { readonly chainId: number; readonly contract: Uint8Array; readonly registry: Uint8Array };
  readonly escrow: EscrowReader;
  readonly jobsPerDataSet: number;
  /** @throws ConfigurationError BROKER_COLLATERAL */
  collateral(): Endorsements;
  readonly validForSeconds: number;
  readonly journal: string;
}

/** @throws ConfigurationError BROKER_CONFIG naming the field, or the file that cannot be read */
export function loadConfig(path: string): BrokerConfig {
  const settings = parse(BrokerSettings, path);
  const near = (file: string): string => resolve(dirname(path), file);
  const { collateral, restrictions } = settings;
  const { chainId } = settings.settlement;
  const contract = fromHex(settings.settlement.contract);
  if (restrictions !== undefined) readPolicy(near(restrictions));
  return {
    host: settings.host,
    port: settings.port,
    dataKey: (datasetId) => findDataKey(near(settings.dataKeys), `0x${toHex(datasetId)}`),
    policyFile: new Uint8Array(read(near(settings.policy))),
    restrictions: () => (restrictions === undefined ? null : readPolicy(near(restrictions))),
    signingSecret: secretOf(near(settings.signingKey)),
    resultSecret: secretOf(near(settings.resultKey)),
    recipients: new Set(settings.recipients.map((key) => key.slice(2))),
    clients: new Set(settings.clients.map((account) => account.slice(2))),
    provers: new Set(settings.provers.map((account) => account.slice(2))),
    settlement: { chainId, contract, registry: fromHex(settings.settlement.registry) },
    escrow: openEscrowReader({ rpcUrl: settings.rpcUrl, chainId, contract, confirmations: settings.confirmations }),
    jobsPerDataSet: settings.jobsPerDataSet,
    collateral: () => (collateral === undefined ? noEndorsements : readCollateral(near(collateral))),
    validForSeconds: settings.validForSeconds,
    journal: near(settings.journal),
  };
}

function readPolicy(path: string): AppraisalPolicy {
  const text = read(path).toString('utf8');
  try {
    return parsePolicy(text);
  } catch (error) {
    throw invalid(path, 'an appraisal policy', error instanceof Error ? error.message : 'something else');
  }
}

function findDataKey(folder: string, datasetId: string): Uint8Array | null {
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.json'))) {
    const entry = parse(DataKeyFile, join(folder, name));
    if (entry.datasetId === datasetId) return fromHex(entry.key);
  }
  return null;
}

function secretOf(path: string): Uint8Array {
  const text = read(path).toString('utf8').trim();
  if (!/^0x[0-9a-f]{64}$/.test(text)) throw invalid(path, '32 bytes as 0x-hexadecimal', `${text.length} characters`);
  return fromHex(text);
}

function parse<S extends z.ZodType>(schema: S, path: string): z.infer<S> {
  let json: unknown;
  try {
    json = JSON.parse(read(path).toString('utf8'));
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    throw invalid(path, 'a JSON document', 'something else');
  }
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  throw invalid(path, issue.message, issue.path.join('.') || 'the document');
}

function read(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw invalid(path, 'a readable file', (error as NodeJS.ErrnoException).code ?? 'an error');
  }
}

function invalid(path: string, expected: string, got: string): ConfigurationError {
  return new ConfigurationError('BROKER_CONFIG', {
    expected: `${path}: ${expected}`,
    got,
    rule: 'key broker settings',
  });
}
