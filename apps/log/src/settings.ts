/** The settings of a log: one JSON file, paths relative to it. */
import { dirname, resolve } from 'node:path';
import { ed25519 } from '@noble/curves/ed25519.js';
import { z } from 'zod';
import { equalBytes, fromHex, utf8 } from '#attestation/base';
import { isPublicKind, isSealedKind, parseTrustPolicy, type NoteKey, type TrustPolicy } from '#attestation/log';
import { createFileStore, createS3Store, type LogFiles, type LogIssuer, type S3Place } from '#libs/log';
import { settingsFiles } from '#libs/process';

const key = z.string().regex(/^0x[0-9a-f]{64}$/);
const kind = z.string().refine((name) => isSealedKind(name) || isPublicKind(name), 'a kind of entry');

const Settings = z.strictObject({
  port: z.int().min(0).max(65_535).default(0),
  host: z.string().default('127.0.0.1'),
  logLevel: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** Its name, which is also its origin: DOMAIN/NAME/YEAR. */
  origin: z.string().min(3).max(200),
  /** Ed25519 secret that signs checkpoints; file with 32 bytes hex. */
  key: z.string(),
  /** PostgreSQL 15 or newer; absent: an embedded database in `database` beside the settings. */
  databaseUrl: z.string().startsWith('postgres').optional(),
  database: z.string().default('database'),
  /** Folder of tiles and entry bundles, where they are not in an S3-compatible store. */
  tiles: z.string().default('tiles'),
  /** `https://HOST/BUCKET/PREFIX`; its keys are in the environment. */
  s3: z
    .strictObject({
      url: z.url({ protocol: /^https?$/ }).regex(/^https?:\/\/[^/]+\/[^/]+/),
      region: z.string().default('us-east-1'),
    })
    .optional(),
  /** tlog-policy: this log's own key, and the witnesses that it shows checkpoints to. */
  witnesses: z.string(),
  issuers: z
    .array(z.strictObject({ name: z.string().min(1).max(128), publicKey: key, kinds: z.array(kind).min(1) }))
    .min(1)
    .max(10_000),
  intervalMs: z.int().min(20).max(60_000).default(200),
  /** Checkpoints on chain, by LogAnchors. */
  anchors: z
    .strictObject({
      rpcUrl: z.url({ protocol: /^https?$/ }),
      chainId: z.int().min(1),
      contract: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
      /** secp256k1 secret of the account that pays; file with 32 bytes hex. */
      key: z.string(),
      everySeconds: z.int().min(60).default(86_400),
      /** Most that one anchor may cost; absent: a cap on each unit of gas alone. */
      feeMaxWei: z
        .string()
        .regex(/^[1-9][0-9]{0,29}$/)
        .transform(BigInt)
        .optional(),
    })
    .optional(),
});

export type AnchorSettings = Omit<NonNullable<z.infer<typeof Settings>['anchors']>, 'key'> & {
  readonly secret: Uint8Array;
};

export interface LogSettings {
  readonly host: string;
  readonly port: number;
  readonly logLevel: z.infer<typeof Settings>['logLevel'];
  readonly key: NoteKey;
  readonly sign: (text: string) => Uint8Array;
  readonly database: { readonly url: string } | { readonly directory: string };
  readonly files: LogFiles;
  readonly policy: TrustPolicy;
  readonly issuers: readonly LogIssuer[];
  readonly intervalMs: number;
  readonly anchors: AnchorSettings | null;
}

const files = settingsFiles('LOG_CONFIG', 'apps/log/README.md');

/** @throws ConfigurationError LOG_CONFIG; Rejection LOG_TRUST_POLICY, LOG_KEY */
export function loadSettings(path: string, env: NodeJS.ProcessEnv = process.env): LogSettings {
  const { origin, databaseUrl, anchors, ...rest } = files.parse(Settings, path);
  const at = (name: string): string => resolve(dirname(path), name);
  const secret = files.secret(at(rest.key));
  const own: NoteKey = { name: origin, use: 'log', publicKey: ed25519.getPublicKey(secret) };
  const policy = parseTrustPolicy(files.read(at(rest.witnesses)).toString('utf8'));
  if (!policy.logs.some((log) => log.key.name === origin && equalBytes(log.key.publicKey, own.publicKey))) {
    throw files.invalid(at(rest.witnesses), 'a line `log` with this log’s own key', 'none');
  }
  return {
    ...{ host: rest.host, port: rest.port, logLevel: rest.logLevel, intervalMs: rest.intervalMs, key: own, policy },
    sign: (text) => ed25519.sign(utf8(text), secret),
    database: databaseUrl === undefined ? { directory: at(rest.database) } : { url: databaseUrl },
    files: rest.s3 === undefined ? createFileStore(at(rest.tiles)) : createS3Store(s3Of(path, rest.s3, env)),
    anchors: anchors === undefined ? null : { ...anchors, secret: files.secret(at(anchors.key)) },
    issuers: rest.issuers.map((issuer) => ({ ...issuer, publicKey: fromHex(issuer.publicKey) })),
  };
}

function s3Of(path: string, place: Pick<S3Place, 'url' | 'region'>, env: NodeJS.ProcessEnv): S3Place {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  if (accessKeyId !== undefined && secretAccessKey !== undefined) return { ...place, accessKeyId, secretAccessKey };
  throw files.invalid(path, 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, beside `s3`', 'not both');
}
