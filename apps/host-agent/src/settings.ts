/** The host operator's settings: where to work, for whose account, with which enclave. */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { ConfigurationError } from '#attestation';
import { ApiKeyText } from '#libs/messaging';

const Wei = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,38})$/)
  .transform(BigInt);
const seconds = z
  .int()
  .min(1)
  .max(2 ** 32 - 1);

/** What terms this host works under; anything else is refused before it costs money (checkTerms). */
const Escrow = z.strictObject({
  priceMinWei: Wei.default(1n),
  /** Most that one job may lock; free stake beyond it is taken out when a job has ended. */
  stakeMaxWei: Wei.default(10n ** 18n),
  /** Most of the stake that a run that never comes may cost, in hundredths of a percent. */
  livenessMaxBps: z.int().min(0).max(10_000).default(2000),
  /** Tokens beside the native coin, 0x-hexadecimal; amounts count in their smallest unit. */
  tokens: z.array(z.string().regex(/^0x[0-9a-f]{40}$/)).default([]),
  startMinSeconds: seconds.default(600),
  computeMinSeconds: seconds.default(3600),
  ackMinSeconds: seconds.default(600),
  revealMinSeconds: seconds.default(1800),
});

const Settings = z.strictObject({
  name: z.string().min(1).max(64),
  controlPlane: z.strictObject({
    url: z.url({ protocol: /^https?$/ }),
    dispatch: z.strictObject({ host: z.string(), port: z.int().min(1).max(65_535) }),
    apiKey: ApiKeyText,
  }),
  chain: z.strictObject({
    rpcUrl: z.url({ protocol: /^https?$/ }),
    pollingMs: z.int().min(10).max(60_000).default(1000),
    confirmations: z.int().min(1).max(1000).default(1),
    deployment: z.strictObject({
      chainId: z.int().min(1),
      fromBlock: z.int().min(0),
      settlement: z.string(),
      registry: z.string(),
      router: z.string(),
      teeVerifier: z.string(),
      rules: z.string(),
      randao: z.string(),
    }),
    /** secp256k1 secret of the account that is paid; file with 32 bytes hex. */
    providerKey: z.string(),
  }),
  escrow: Escrow.prefault({}),
  /** Origins of the key brokers that this host asks; absent: any over https, or on this machine. */
  brokers: z.array(z.url({ protocol: /^https?$/ })).optional(),
  enclave: z.strictObject({
    attester: z.enum(['snp', 'tdx', 'simulated']),
    /** Simulated attester only. */
    vendor: z.string().optional(),
    /** `nvml`: every GPU of the guest is part of its evidence. */
    gpus: z.enum(['none', 'nvml']).default('none'),
    threads: z.int().min(1).max(256).default(1),
  }),
  /** Results on their way to being paid. */
  dataDirectory: z.string(),
});

export type HostSettings = z.infer<typeof Settings> & { readonly providerSecret: string };

/** @throws ConfigurationError HOST_SETTINGS naming the field, or the file that cannot be read */
export function loadSettings(path: string): HostSettings {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw invalid(`${path}: a readable JSON document`, error instanceof Error ? error.message : 'an error');
  }
  const result = Settings.safeParse(json);
  if (!result.success) {
    const issue = result.error.issues[0]!;
    throw invalid(`${path}: ${issue.message}`, issue.path.join('.'));
  }
  const near = (file: string): string => resolve(dirname(path), file);
  const settings = result.data;
  const { vendor } = settings.enclave;
  return {
    ...settings,
    enclave: { ...settings.enclave, ...(vendor !== undefined && { vendor: near(vendor) }) },
    dataDirectory: near(settings.dataDirectory),
    providerSecret: readSecret(near(settings.chain.providerKey)),
  };
}

function readSecret(path: string): string {
  const text = readFileSync(path, 'utf8').trim();
  if (/^0x[0-9a-f]{64}$/.test(text)) return text;
  throw invalid(`${path}: 32 bytes as 0x-hexadecimal`, `${text.length} characters`);
}

function invalid(expected: string, got: string): ConfigurationError {
  return new ConfigurationError('HOST_SETTINGS', { expected, got, rule: 'host agent settings' });
}
