/** Settings from the environment; README.md holds the table. */
import { resolve } from 'node:path';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ConfigurationError } from '#attestation';
import { Address, ApiKeyText, text } from '#libs/messaging';
import { defaultCacheDirectory, roles } from '#libs/persistence';

const port = z.coerce.number().int().min(0).max(65_535);
const whole = (min: number, max: number) => z.coerce.number().int().min(min).max(max);

const Environment = z.object({
  VERITRAIN_HTTP_HOST: z.string().default('127.0.0.1'),
  VERITRAIN_HTTP_PORT: port.default(4100),
  VERITRAIN_DISPATCH_HOST: z.string().default('127.0.0.1'),
  VERITRAIN_DISPATCH_PORT: port.default(4101),
  VERITRAIN_DATA_DIR: z.string().default('.veritrain/control-plane'),
  VERITRAIN_CACHE_DIR: z.string().default(defaultCacheDirectory()),
  VERITRAIN_BOOTSTRAP_KEYS: z.string().optional(),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
  VERITRAIN_DATABASE_POOL: whole(1, 200).default(10),
  VERITRAIN_RPC_URL: z.url({ protocol: /^https?$/ }).optional(),
  VERITRAIN_CONTRACT: Address.optional(),
  VERITRAIN_CHAIN_ID: whole(1, Number.MAX_SAFE_INTEGER).default(31_337),
  VERITRAIN_CONFIRMATIONS: whole(0, 10_000).default(2),
  VERITRAIN_CHAIN_START_BLOCK: whole(0, Number.MAX_SAFE_INTEGER).default(0),
  VERITRAIN_CHAIN_POLL_MS: whole(20, 600_000).default(1000),
  VERITRAIN_HEARTBEAT_SECONDS: whole(1, 3600).default(5),
  VERITRAIN_LEASE_SECONDS: whole(2, 86_400).default(30),
  VERITRAIN_ATTEMPTS_MAX: whole(1, 100).default(5),
  VERITRAIN_REQUESTS_PER_MINUTE: whole(1, 10_000_000).default(1200),
  VERITRAIN_ADDRESS_REQUESTS_PER_MINUTE: whole(1, 10_000_000).default(6000),
  VERITRAIN_OPERATOR_BLOB_MIB: whole(1, 2 ** 30).default(262_144),
  VERITRAIN_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
});

const BootstrapKeys = z
  .array(
    z
      .object({
        key: ApiKeyText,
        tenant: text(64).min(1),
        role: z.enum(roles),
        name: text(64).default(''),
        /** Account that the operator's nodes are paid to. */
        provider: Address.optional(),
      })
      .refine(
        ({ role, provider }) => (role === 'operator') === (provider !== undefined),
        'a provider for operators, and for them alone',
      ),
  )
  .max(1000);
export type BootstrapKey = z.infer<typeof BootstrapKeys>[number];

export interface ChainConfig {
  readonly rpcUrl: string;
  readonly contract: string;
  readonly chainId: number;
  readonly confirmations: number;
  readonly startBlock: number;
  readonly pollMilliseconds: number;
}

export interface Config {
  readonly http: { readonly host: string; readonly port: number };
  readonly dispatch: { readonly host: string; readonly port: number };
  readonly dataDirectory: string;
  readonly cacheDirectory: string;
  readonly databaseUrl: string | null;
  readonly databasePool: number;
  readonly bootstrapKeys: readonly BootstrapKey[];
  /** null: no chain is watched, and no job is ever funded. */
  readonly chain: ChainConfig | null;
  readonly heartbeatSeconds: number;
  readonly leaseSeconds: number;
  readonly attemptsMax: number;
  /** Of one API key to one route. */
  readonly requestsPerMinute: number;
  /** Of one address to one route, whatever keys it names. */
  readonly addressRequestsPerMinute: number;
  /** Stored blobs of one operator's tenant. */
  readonly operatorBlobBytesMax: number;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
}

/** @throws ConfigurationError CONFIG_INVALID, CONFIG_CHAIN, CONFIG_LEASE, CONFIG_BOOTSTRAP_KEYS */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const set = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = Environment.safeParse(set);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    const name = String(issue.path[0]);
    throw invalid('CONFIG_INVALID', `${name}: ${issue.message}`, `${name}=${secretFree(name, set[name])}`);
  }
  const env = parsed.data;
  if (env.VERITRAIN_LEASE_SECONDS <= env.VERITRAIN_HEARTBEAT_SECONDS) {
    throw invalid(
      'CONFIG_LEASE',
      'VERITRAIN_LEASE_SECONDS above VERITRAIN_HEARTBEAT_SECONDS',
      `${env.VERITRAIN_LEASE_SECONDS}`,
    );
  }
  return {
    http: { host: env.VERITRAIN_HTTP_HOST, port: env.VERITRAIN_HTTP_PORT },
    dispatch: { host: env.VERITRAIN_DISPATCH_HOST, port: env.VERITRAIN_DISPATCH_PORT },
    dataDirectory: resolve(env.VERITRAIN_DATA_DIR),
    cacheDirectory: resolve(env.VERITRAIN_CACHE_DIR),
    databaseUrl: env.DATABASE_URL ?? null,
    databasePool: env.VERITRAIN_DATABASE_POOL,
    bootstrapKeys: env.VERITRAIN_BOOTSTRAP_KEYS === undefined ? [] : readKeys(env.VERITRAIN_BOOTSTRAP_KEYS),
    chain: chainOf(env),
    heartbeatSeconds: env.VERITRAIN_HEARTBEAT_SECONDS,
    leaseSeconds: env.VERITRAIN_LEASE_SECONDS,
    attemptsMax: env.VERITRAIN_ATTEMPTS_MAX,
    requestsPerMinute: env.VERITRAIN_REQUESTS_PER_MINUTE,
    addressRequestsPerMinute: env.VERITRAIN_ADDRESS_REQUESTS_PER_MINUTE,
    operatorBlobBytesMax: env.VERITRAIN_OPERATOR_BLOB_MIB * 2 ** 20,
    logLevel: env.VERITRAIN_LOG_LEVEL,
  };
}

function chainOf(env: z.infer<typeof Environment>): ChainConfig | null {
  const { VERITRAIN_RPC_URL: rpcUrl, VERITRAIN_CONTRACT: contract } = env;
  if (rpcUrl === undefined && contract === undefined) return null;
  if (rpcUrl === undefined || contract === undefined) {
    throw invalid('CONFIG_CHAIN', 'VERITRAIN_RPC_URL and VERITRAIN_CONTRACT, both or neither', 'one of them');
  }
  return {
    rpcUrl,
    contract,
    chainId: env.VERITRAIN_CHAIN_ID,
    confirmations: env.VERITRAIN_CONFIRMATIONS,
    startBlock: env.VERITRAIN_CHAIN_START_BLOCK,
    pollMilliseconds: env.VERITRAIN_CHAIN_POLL_MS,
  };
}

function readKeys(path: string): readonly BootstrapKey[] {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    throw invalid('CONFIG_BOOTSTRAP_KEYS', 'a readable JSON file', 'none');
  }
  const parsed = BootstrapKeys.safeParse(json);
  if (!parsed.success) {
    const { path: where, message } = parsed.error.issues[0]!;
    throw invalid(
      'CONFIG_BOOTSTRAP_KEYS',
      'a list of {key, tenant, role, name, provider}',
      `${where.join('.')}: ${message}`,
    );
  }
  return parsed.data;
}

function secretFree(name: string, value: unknown): string {
  return name === 'DATABASE_URL' ? '(not shown)' : String(value).slice(0, 80);
}

function invalid(code: string, expected: string, got: string): ConfigurationError {
  return new ConfigurationError(code, {
    expected,
    got,
    rule: 'control-plane README, configuration',
    action: 'Set the environment variable and start again.',
  });
}
