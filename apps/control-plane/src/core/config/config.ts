/** Settings from the environment; README.md holds the table. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { defaultCacheDirectory } from '#libs/persistence';
import { Address, ApiKeyText, text, type NatsAddress, roles } from '#libs/wire';
import { invalid } from './config-error.js';
import { readCorsOrigins } from './cors.js';
import { readLog, type LogConfig } from './log.js';
import { readOidc, type OidcConfig } from './oidc.js';
import { readDispatch, readNats, type DispatchConfig } from './transports.js';
import { readTrustProxy, type TrustProxy } from './trust-proxy.js';

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
  NATS_URL: z.string().max(2048).optional(),
  VERITRAIN_NATS_NKEY: z.string().optional(),
  VERITRAIN_NATS_CA: z.string().optional(),
  VERITRAIN_DISPATCH_TLS_KEY: z.string().optional(),
  VERITRAIN_DISPATCH_TLS_CERT: z.string().optional(),
  VERITRAIN_DISPATCH_TLS_CA: z.string().optional(),
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
  VERITRAIN_RETRY_PAUSE_SECONDS: whole(0, 3600).default(2),
  VERITRAIN_TRUST_PROXY: z.string().max(1024).optional(),
  VERITRAIN_HIGH_VALUE_FROM_WEI: z
    .string()
    .regex(/^[1-9][0-9]{0,38}$/)
    .transform(BigInt)
    .optional(),
  VERITRAIN_JOBS_WAITING_MAX: whole(1, 10_000_000).default(20_000),
  VERITRAIN_JOBS_UNDER_WAY_MAX: whole(1, 10_000_000).default(2000),
  VERITRAIN_REQUESTS_PER_MINUTE: whole(1, 10_000_000).default(1200),
  VERITRAIN_ADDRESS_REQUESTS_PER_MINUTE: whole(1, 10_000_000).default(6000),
  VERITRAIN_STREAMS_PER_KEY_MAX: whole(1, 1_000_000).default(2000),
  VERITRAIN_SHED_DELAY_MS: whole(0, 60_000).default(500),
  VERITRAIN_S3_URL: z.url({ protocol: /^https?$/ }).optional(),
  VERITRAIN_S3_REGION: z.string().default('us-east-1'),
  AWS_ACCESS_KEY_ID: z.string().optional(),
  AWS_SECRET_ACCESS_KEY: z.string().optional(),
  VERITRAIN_LOG_URL: z.url({ protocol: /^https?$/ }).optional(),
  VERITRAIN_LOG_POLICY: z.string().optional(),
  VERITRAIN_LOG_KEY: z.string().optional(),
  VERITRAIN_LOG_IMAGES: z.string().optional(),
  VERITRAIN_LOG_ISSUER: z.string().min(1).max(128).optional(),
  VERITRAIN_CLIENT_DATASET_MIB: whole(1, 2 ** 30).default(1_048_576),
  VERITRAIN_OPERATOR_BLOB_MIB: whole(1, 2 ** 30).default(262_144),
  VERITRAIN_WEBHOOK_TARGETS: z.enum(['public', 'any']).default('public'),
  VERITRAIN_CORS_ORIGINS: z.string().max(8192).optional(),
  VERITRAIN_OIDC_ISSUER: z.string().max(2048).optional(),
  VERITRAIN_OIDC_CLIENT_ID: z.string().min(1).max(256).optional(),
  VERITRAIN_OIDC_SECRET: z.string().optional(),
  VERITRAIN_OIDC_SCOPE: z.string().max(1024).optional(),
  VERITRAIN_OIDC_RULES: z.string().optional(),
  VERITRAIN_CONSOLE_URL: z.string().max(2048).optional(),
  VERITRAIN_CONSOLE_DIR: z.string().default(builtConsole()),
  VERITRAIN_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
});

const BootstrapKeys = z
  .array(
    z
      .object({
        key: ApiKeyText,
        /** Absent: of every tenant; administrators alone. */
        tenant: text(64).min(1).optional(),
        role: z.enum(roles),
        name: text(64).default(''),
        /** Account that the operator's nodes are paid to. */
        provider: Address.optional(),
      })
      .refine(
        ({ role, provider }) => (role === 'operator') === (provider !== undefined),
        'a provider for operators, and for them alone',
      )
      .refine(({ role, tenant }) => role === 'admin' || tenant !== undefined, 'a tenant, but for administrators'),
  )
  .max(1000);
export type BootstrapKey = z.infer<typeof BootstrapKeys>[number];

interface ChainConfig {
  readonly rpcUrl: string;
  readonly contract: string;
  readonly chainId: number;
  readonly confirmations: number;
  readonly startBlock: number;
  readonly pollMilliseconds: number;
}

export interface S3Location {
  /** `https://HOST/BUCKET` or `https://HOST/BUCKET/PREFIX`. */
  readonly url: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface Config {
  readonly http: { readonly host: string; readonly port: number };
  readonly dispatch: DispatchConfig;
  /** null: one replica, and nodes dial over TCP alone. */
  readonly nats: NatsAddress | null;
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
  /** Before the lease after the first that brought nothing; each further one doubles it. */
  readonly retryPauseSeconds: number;
  /** Reverse proxies whose word on the client's address counts; null: nobody's does. */
  readonly trustProxy: TrustProxy | null;
  /** Price from which a job's steps must be proved; null: the client's choice alone. */
  readonly highValueFromWei: bigint | null;
  /** Of one tenant, in the queue. */
  readonly jobsWaitingMax: number;
  /** Of one tenant, under leases. */
  readonly jobsUnderWayMax: number;
  /** Of one API key to one route. */
  readonly requestsPerMinute: number;
  /** Of one address to one route, whatever keys it names. */
  readonly addressRequestsPerMinute: number;
  /** Streams of events that one API key follows at a replica. */
  readonly streamsPerKeyMax: number;
  /** Mean delay of the event loop at which requests begin to be shed; null: none ever is. */
  readonly shedDelayMilliseconds: number | null;
  /** null: ciphertexts lie in the data directory. */
  readonly s3: S3Location | null;
  /** null: nothing is logged. */
  readonly log: LogConfig | null;
  /** Ciphertext of the data sets that one client's tenant has registered. */
  readonly clientDatasetBytesMax: number;
  /** Stored blobs of one operator's tenant. */
  readonly operatorBlobBytesMax: number;
  /** `any`: webhooks may name addresses of this network, and plain http. */
  readonly webhookTargets: 'public' | 'any';
  /** Whose pages may ask with a key of their own; none where it is empty. */
  readonly corsOrigins: readonly string[];
  /** null: people sign in to the console with API keys alone. */
  readonly oidc: OidcConfig | null;
  /** Where the build left the console. */
  readonly consoleDirectory: string;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
}

/**
 * @throws ConfigurationError CONFIG_INVALID, CONFIG_CHAIN, CONFIG_LEASE, CONFIG_TRUST_PROXY, CONFIG_BOOTSTRAP_KEYS, CONFIG_CORS,
 *   CONFIG_PLAIN, CONFIG_TLS, CONFIG_NATS, CONFIG_LOG, CONFIG_OIDC
 */
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
    dispatch: readDispatch(env),
    nats: readNats(env),
    dataDirectory: resolve(env.VERITRAIN_DATA_DIR),
    cacheDirectory: resolve(env.VERITRAIN_CACHE_DIR),
    databaseUrl: env.DATABASE_URL ?? null,
    databasePool: env.VERITRAIN_DATABASE_POOL,
    bootstrapKeys: env.VERITRAIN_BOOTSTRAP_KEYS === undefined ? [] : readKeys(env.VERITRAIN_BOOTSTRAP_KEYS),
    chain: chainOf(env),
    heartbeatSeconds: env.VERITRAIN_HEARTBEAT_SECONDS,
    leaseSeconds: env.VERITRAIN_LEASE_SECONDS,
    attemptsMax: env.VERITRAIN_ATTEMPTS_MAX,
    retryPauseSeconds: env.VERITRAIN_RETRY_PAUSE_SECONDS,
    trustProxy: readTrustProxy(env.VERITRAIN_TRUST_PROXY),
    highValueFromWei: env.VERITRAIN_HIGH_VALUE_FROM_WEI ?? null,
    jobsWaitingMax: env.VERITRAIN_JOBS_WAITING_MAX,
    jobsUnderWayMax: env.VERITRAIN_JOBS_UNDER_WAY_MAX,
    requestsPerMinute: env.VERITRAIN_REQUESTS_PER_MINUTE,
    addressRequestsPerMinute: env.VERITRAIN_ADDRESS_REQUESTS_PER_MINUTE,
    streamsPerKeyMax: env.VERITRAIN_STREAMS_PER_KEY_MAX,
    shedDelayMilliseconds: env.VERITRAIN_SHED_DELAY_MS === 0 ? null : env.VERITRAIN_SHED_DELAY_MS,
    s3: s3Of(env),
    log: readLog(env),
    clientDatasetBytesMax: env.VERITRAIN_CLIENT_DATASET_MIB * 2 ** 20,
    operatorBlobBytesMax: env.VERITRAIN_OPERATOR_BLOB_MIB * 2 ** 20,
    webhookTargets: env.VERITRAIN_WEBHOOK_TARGETS,
    corsOrigins: readCorsOrigins(env.VERITRAIN_CORS_ORIGINS),
    oidc: readOidc(env),
    consoleDirectory: resolve(env.VERITRAIN_CONSOLE_DIR),
    logLevel: env.VERITRAIN_LOG_LEVEL,
  };
}

/** The same from source as from dist. */
function builtConsole(): string {
  const file = fileURLToPath(import.meta.url);
  const root = file.slice(0, file.search(/([\\/]dist)?[\\/]apps[\\/]control-plane[\\/]/));
  return join(root, 'dist/apps/console');
}

function s3Of(env: z.infer<typeof Environment>): S3Location | null {
  const { VERITRAIN_S3_URL: url, AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (url === undefined) return null;
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    throw invalid('CONFIG_S3', 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY beside VERITRAIN_S3_URL', 'not both');
  }
  if (!/^\/[^/]+/.test(new URL(url).pathname)) throw invalid('CONFIG_S3', 'VERITRAIN_S3_URL with a bucket', url);
  return { url, region: env.VERITRAIN_S3_REGION, accessKeyId, secretAccessKey };
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
