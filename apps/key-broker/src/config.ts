/** The data owner's settings: which data keys, under which policy, for whose results, on which chain. */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigurationError, fromHex } from '#attestation';

const hex = (size: number) => z.string().regex(new RegExp(`^0x[0-9a-f]{${2 * size}}$`));

const BrokerSettings = z.strictObject({
  port: z.int().min(0).max(65_535).default(0),
  host: z.string().default('127.0.0.1'),
  /** Files written by `veritrain dataset seal`. */
  dataKeys: z.array(z.string()).min(1),
  /** The appraisal policy of the data owner, JSON. */
  policy: z.string(),
  /** secp256k1 secret that signs Appraisal and Release; file with 32 bytes hex. */
  signingKey: z.string(),
  /** X25519 keys that a job's result may be encrypted to. */
  recipients: z.array(hex(32)).min(1),
  settlement: z.strictObject({ chainId: z.int().min(1), contract: hex(20), registry: hex(20) }),
  /** How long an appraisal may be relied on, seconds. */
  validForSeconds: z.int().min(60).max(604_800).default(86_400),
  /** Append-only record of every decision, JSON lines. */
  journal: z.string(),
});

const DataKeyFile = z.strictObject({ datasetId: hex(32), key: hex(32) });

export interface BrokerConfig {
  readonly host: string;
  readonly port: number;
  /** By data set id, hex without prefix. */
  readonly dataKeys: ReadonlyMap<string, Uint8Array>;
  readonly policyFile: Uint8Array;
  readonly signingSecret: Uint8Array;
  readonly recipients: ReadonlySet<string>;
  readonly settlement: { readonly chainId: number; readonly contract: Uint8Array; readonly registry: Uint8Array };
  readonly validForSeconds: number;
  readonly journal: string;
}

/** @throws ConfigurationError BROKER_CONFIG naming the field, or the file that cannot be read */
export function loadConfig(path: string): BrokerConfig {
  const settings = parse(BrokerSettings, path);
  const near = (file: string): string => resolve(dirname(path), file);
  const dataKeys = settings.dataKeys.map((file) => parse(DataKeyFile, near(file)));
  return {
    host: settings.host,
    port: settings.port,
    dataKeys: new Map(dataKeys.map((entry) => [entry.datasetId.slice(2), fromHex(entry.key)])),
    policyFile: new Uint8Array(read(near(settings.policy))),
    signingSecret: secretOf(near(settings.signingKey)),
    recipients: new Set(settings.recipients.map((key) => key.slice(2))),
    settlement: {
      chainId: settings.settlement.chainId,
      contract: fromHex(settings.settlement.contract),
      registry: fromHex(settings.settlement.registry),
    },
    validForSeconds: settings.validForSeconds,
    journal: near(settings.journal),
  };
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
