/** The settings of a key broker, and of an attestor, which is one without data keys. */
import { readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ed25519 } from '@noble/curves/ed25519.js';
import { z } from 'zod';
import { documentDigest, type AppraisalPolicy } from '#attestation';
import { CodedError, ed25519Signer, fromHex, fromUtf8, to0x, toHex } from '#attestation/base';
import { parseTrustPolicy, type TrustPolicy } from '#attestation/log';
import { noEndorsementRecord, type EndorsementRecord, type ProgressGrain } from '#attestation/records';
import { settingsFiles } from '#libs/process';
import { openEscrowReader } from '#libs/settlement';
import { readCollateral } from './collateral.js';
import type { Escrows } from './escrow.js';
import { openOwnEntries, type OwnEntries } from './own-entries.js';
import { readPolicy } from './policy-file.js';
import { openReleaseLog, type ReleaseLog } from './release-log.js';

const files = settingsFiles('BROKER_CONFIG', 'key broker settings');

const hex = (size: number) => z.string().regex(new RegExp(`^0x[0-9a-f]{${2 * size}}$`));

/** What key broker and attestor both have. */
const shared = {
  port: z.int().min(0).max(65_535).default(0),
  host: z.string().default('127.0.0.1'),
  /** Addresses of the proxies in front, whose word on who asks is believed. */
  proxies: z.array(z.string()).max(16).default([]),
  logLevel: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** Ed25519 key of whoever signs policies; with it, only signed ones are read. */
  policySigner: hex(32).optional(),
  /** A policy that sessions must meet besides, whatever their job names; read at every appraisal. */
  restrictions: z.string().optional(),
  /** secp256k1 secret that signs; file with 32 bytes hex. */
  signingKey: z.string(),
  /** Ed25519 secret that signs attestation results; file with 32 bytes hex. */
  resultKey: z.string(),
  settlement: z.strictObject({ chainId: z.int().min(1), contract: hex(20), registry: hex(20) }),
  /** JSON-RPC endpoint of that chain: what it says of an escrow is believed. */
  rpcUrl: z.url({ protocol: /^https?$/ }),
  /** Blocks on top of the one that opened an escrow. */
  confirmations: z.int().min(0).max(1000).default(0),
  /** Folder of revocation lists, reference manifests and other endorsements; read at every release. */
  collateral: z.string().optional(),
  /** How long a release, lease or appraisal may be relied on, seconds. */
  validForSeconds: z.int().min(5).max(604_800).default(86_400),
  /** Append-only record of every decision, JSON lines. */
  journal: z.string(),
  /** Folder of encrypted results; beside the journal where absent. */
  results: z.string().optional(),
  /** Bytes of all results together. */
  resultsBytesMax: z
    .int()
    .min(1024 * 1024)
    .default(10 * 1024 ** 3),
};

const accounts = z.array(hex(20)).max(1000);

const BrokerSettings = z.strictObject({
  ...shared,
  /** Folder of the files that `veritrain dataset seal --key` wrote; read at every release. */
  dataKeys: z.string(),
  /** The appraisal policy of the data owner: JSON, or signed. */
  policy: z.string(),
  /** Policies that jobs under way name, from before the present one: they too are appraised under. */
  formerPolicies: z.array(z.string()).max(99).default([]),
  /** X25519 keys that a job's result may be encrypted to. */
  recipients: z.array(hex(32)).min(1),
  /** Accounts whose escrows it releases keys for. */
  clients: accounts.min(1),
  /** Accounts without a TEE that may have the keys for jobs whose assurance is zk; they see the data. */
  provers: accounts.default([]),
  /** The finest figures that may leave an enclave while it trains: enclave/SPEC.md, progress. */
  progress: z.enum(['none', 'epoch', 'segment', 'step']).default('epoch'),
  /** Different jobs that may have one data set's key. */
  jobsPerDataSet: z.int().min(1).max(1_000_000).default(100),
  /** Jobs under way that one session may hold at a time. */
  jobsPerSession: z.int().min(1).max(1000).default(16),
  /** A transparency log that must have every release before the key leaves. */
  log: z
    .strictObject({
      url: z.url({ protocol: /^https?$/ }),
      /** tlog-policy: the log, and the witnesses of which a quorum must have seen the release. */
      policy: z.string(),
      /** Ed25519 secret that signs entries; file with 32 bytes hex. */
      key: z.string(),
      /** The name under which the log knows that key. */
      issuer: z.string().min(1).max(128),
      /** `issuer` entry that binds the key to the account of `signingKey`, and its tlog-proof: files. */
      issuerEntry: z.string().optional(),
      issuerProof: z.string().optional(),
      /** Size of the log below which its entries need no line in the journal: the owner accepts what is missing. */
      acceptedTo: z.int().min(0).default(0),
    })
    .optional(),
});

const AttestorSettings = z.strictObject({
  ...shared,
  /** The policies that it appraises under: JSON, or signed. */
  policies: z.array(z.string()).min(1).max(100),
  /** Accounts whose escrows it appraises for; absent: of all whose terms list it. */
  clients: accounts.min(1).optional(),
});

const DataKeyFile = z.strictObject({ datasetId: hex(32), key: hex(32) });

export interface SpeakerConfig {
  readonly host: string;
  readonly port: number;
  readonly proxies: readonly string[];
  readonly logLevel: z.infer<typeof shared.logLevel>;
  /** Without data keys. */
  readonly attestOnly: boolean;
  /** Whole files. */
  readonly policyFiles: readonly Uint8Array[];
  readonly policySigner?: Uint8Array;
  /** What sessions must meet besides; absent or null: nothing. @throws ConfigurationError BROKER_CONFIG */
  restrictions?(): AppraisalPolicy | null | Promise<AppraisalPolicy | null>;
  readonly signingSecret: Uint8Array;
  readonly resultSecret: Uint8Array;
  /** Accounts whose escrows count, hexadecimal without 0x; absent: all. */
  readonly clients?: ReadonlySet<string>;
  readonly settlement: { readonly chainId: number; readonly contract: Uint8Array; readonly registry: Uint8Array };
  readonly escrow: Escrows;
  /** @throws ConfigurationError BROKER_COLLATERAL */
  collateral(): EndorsementRecord;
  readonly validForSeconds: number;
  readonly journal: string;
  readonly results: string;
  readonly resultsBytesMax: number;
}

export interface BrokerConfig extends SpeakerConfig {
  readonly attestOnly: false;
  /**
   * The key of a data set, or null when this broker has none.
   * @throws ConfigurationError BROKER_CONFIG on a bad file
   */
  dataKey(datasetId: Uint8Array): Uint8Array | null;
  readonly recipients: ReadonlySet<string>;
  readonly clients: ReadonlySet<string>;
  /** Accounts of provers without a TEE, hexadecimal without 0x; absent: none. */
  readonly provers?: ReadonlySet<string>;
  readonly progress: ProgressGrain;
  readonly jobsPerDataSet: number;
  readonly jobsPerSession: number;
  /** Where the data owner demands that releases are logged; absent: none is. */
  readonly log?: ReleaseLog;
  /** The same log, where the journal is held against it. */
  readonly ownEntries?: OwnEntries;
}

export interface AttestorConfig extends SpeakerConfig {
  readonly attestOnly: true;
}

/** @throws ConfigurationError BROKER_CONFIG naming the field, or the file that cannot be read */
export async function loadBrokerConfig(path: string): Promise<BrokerConfig> {
  const settings = files.parse(BrokerSettings, path);
  const near = (file: string): string => resolve(dirname(path), file);
  const dataKeys = near(settings.dataKeys);
  return {
    ...(await sharedConfig(settings, path, [settings.policy, ...settings.formerPolicies])),
    attestOnly: false,
    dataKey: (datasetId) => findDataKey(dataKeys, to0x(datasetId)),
    recipients: bare(settings.recipients),
    clients: bare(settings.clients),
    provers: bare(settings.provers),
    progress: settings.progress,
    jobsPerDataSet: settings.jobsPerDataSet,
    jobsPerSession: settings.jobsPerSession,
    ...(settings.log && logOf(settings.log, path, await policyOf(near(settings.policy), signerOf(settings)))),
  };
}

/** @throws ConfigurationError BROKER_CONFIG naming the field, or the file that cannot be read */
export async function loadAttestorConfig(path: string): Promise<AttestorConfig> {
  const settings = files.parse(AttestorSettings, path);
  const { clients } = settings;
  return {
    ...(await sharedConfig(settings, path, settings.policies)),
    attestOnly: true,
    ...(clients !== undefined && { clients: bare(clients) }),
  };
}

/** @throws ConfigurationError BROKER_CONFIG */
function logOf(
  settings: NonNullable<z.infer<typeof BrokerSettings>['log']>,
  path: string,
  appraised: AppraisalPolicy,
): Pick<BrokerConfig, 'log' | 'ownEntries'> {
  const near = (file: string): string => resolve(dirname(path), file);
  const secret = files.secret(near(settings.key));
  const policyFile = near(settings.policy);
  const { issuerEntry, issuerProof } = settings;
  if ((issuerEntry === undefined) !== (issuerProof === undefined)) {
    throw files.invalid(path, 'log.issuerEntry and log.issuerProof, both or neither', 'one of them');
  }
  const text = (file: string): string => fromUtf8(new Uint8Array(files.read(near(file))));
  const shown = () =>
    issuerEntry === undefined || issuerProof === undefined
      ? []
      : [{ entry: new Uint8Array(files.read(near(issuerEntry))), opening: null, proof: text(issuerProof) }];
  const place = {
    url: settings.url.replace(/\/$/, ''),
    policy: trustPolicyOf(policyFile, text(settings.policy)),
    issuer: { name: settings.issuer, publicKey: ed25519.getPublicKey(secret), sign: ed25519Signer(secret) },
  };
  const own = { id: appraised.id.slice(0, 128), digest: fromHex(documentDigest(appraised)) };
  return {
    log: openReleaseLog({ ...place, shown, own: { ...own, validFrom: appraised.notBefore } }),
    ownEntries: openOwnEntries({ ...place, acceptedTo: settings.acceptedTo }),
  };
}

function trustPolicyOf(path: string, text: string): TrustPolicy {
  try {
    return parseTrustPolicy(text);
  } catch (error) {
    if (error instanceof CodedError) throw files.invalid(path, error.detail.expected, error.detail.got);
    throw error;
  }
}

type SharedSettings = z.infer<z.ZodObject<typeof shared>>;

async function sharedConfig(
  settings: SharedSettings,
  path: string,
  policies: readonly string[],
): Promise<Omit<SpeakerConfig, 'attestOnly'>> {
  const near = (file: string): string => resolve(dirname(path), file);
  const { collateral, restrictions, host, port, proxies, logLevel, validForSeconds, resultsBytesMax } = settings;
  const { chainId } = settings.settlement;
  const contract = fromHex(settings.settlement.contract);
  const signer = signerOf(settings);
  const policyAt = (file: string): Promise<AppraisalPolicy> => policyOf(near(file), signer);
  for (const file of restrictions === undefined ? policies : [...policies, restrictions]) await policyAt(file);
  return {
    ...{ host, port, proxies, logLevel, validForSeconds, resultsBytesMax },
    policyFiles: policies.map((file) => new Uint8Array(files.read(near(file)))),
    ...(signer !== undefined && { policySigner: signer }),
    restrictions: () => (restrictions === undefined ? null : policyAt(restrictions)),
    signingSecret: files.secret(near(settings.signingKey)),
    resultSecret: files.secret(near(settings.resultKey)),
    settlement: { chainId, contract, registry: fromHex(settings.settlement.registry) },
    escrow: openEscrowReader({ rpcUrl: settings.rpcUrl, chainId, contract, confirmations: settings.confirmations }),
    collateral: () => (collateral === undefined ? noEndorsementRecord : readCollateral(near(collateral))),
    journal: near(settings.journal),
    results: near(settings.results ?? `${settings.journal}.results`),
  };
}

function signerOf({ policySigner }: SharedSettings): Uint8Array | undefined {
  return policySigner === undefined ? undefined : fromHex(policySigner);
}

function bare(texts: readonly string[]): ReadonlySet<string> {
  return new Set(texts.map((text) => text.slice(2)));
}

async function policyOf(path: string, signer: Uint8Array | undefined): Promise<AppraisalPolicy> {
  const file = new Uint8Array(files.read(path));
  try {
    return await readPolicy(file, signer);
  } catch (error) {
    const expected = signer === undefined ? 'an appraisal policy' : `a policy signed by ${toHex(signer)}`;
    throw files.invalid(path, expected, error instanceof Error ? error.message : 'something else');
  }
}

function findDataKey(folder: string, datasetId: string): Uint8Array | null {
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.json'))) {
    const entry = files.parse(DataKeyFile, join(folder, name));
    if (entry.datasetId === datasetId) return fromHex(entry.key);
  }
  return null;
}
