/** The settings of a log: one JSON file, paths relative to it. */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ed25519 } from '@noble/curves/ed25519.js';
import { z } from 'zod';
import { ConfigurationError, equalBytes, fromHex, utf8 } from '#attestation/base';
import { isPublicKind, isSealedKind, parseTrustPolicy, type NoteKey, type TrustPolicy } from '#attestation/log';
import type { LogIssuer } from '#libs/log';

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
  /** Folder of tiles and entry bundles. */
  tiles: z.string().default('tiles'),
  /** tlog-policy: this log's own key, and the witnesses that it shows checkpoints to. */
  witnesses: z.string(),
  issuers: z
    .array(z.strictObject({ name: z.string().min(1).max(128), publicKey: key, kinds: z.array(kind).min(1) }))
    .min(1)
    .max(10_000),
  intervalMs: z.int().min(20).max(60_000).default(200),
});

export interface LogSettings {
  readonly host: string;
  readonly port: number;
  readonly logLevel: z.infer<typeof Settings>['logLevel'];
  readonly key: NoteKey;
  readonly sign: (text: string) => Uint8Array;
  readonly database: { readonly url: string } | { readonly directory: string };
  readonly tiles: string;
  readonly policy: TrustPolicy;
  readonly issuers: readonly LogIssuer[];
  readonly intervalMs: number;
}

/** @throws ConfigurationError LOG_CONFIG; Rejection LOG_TRUST_POLICY, LOG_KEY */
export function loadSettings(path: string): LogSettings {
  const { origin, databaseUrl, ...rest } = parsed(path);
  const at = (name: string): string => resolve(dirname(path), name);
  const secret = secretOf(at(rest.key));
  const own: NoteKey = { name: origin, use: 'log', publicKey: ed25519.getPublicKey(secret) };
  const policy = parseTrustPolicy(read(at(rest.witnesses)).toString('utf8'));
  if (!policy.logs.some((log) => log.key.name === origin && equalBytes(log.key.publicKey, own.publicKey))) {
    throw invalid(`${rest.witnesses}: a line \`log\` with this log’s own key`, 'none');
  }
  return {
    ...{ host: rest.host, port: rest.port, logLevel: rest.logLevel, intervalMs: rest.intervalMs, key: own, policy },
    sign: (text) => ed25519.sign(utf8(text), secret),
    database: databaseUrl === undefined ? { directory: at(rest.database) } : { url: databaseUrl },
    tiles: at(rest.tiles),
    issuers: rest.issuers.map((issuer) => ({ ...issuer, publicKey: fromHex(issuer.publicKey) })),
  };
}

function parsed(path: string): z.infer<typeof Settings> {
  let json: unknown;
  try {
    json = JSON.parse(read(path).toString('utf8'));
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    throw invalid('a JSON document', 'something else');
  }
  const result = Settings.safeParse(json);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  throw invalid(issue.message, issue.path.join('.') || 'the document');
}

function secretOf(path: string): Uint8Array {
  const text = read(path).toString('utf8').trim();
  if (!/^0x[0-9a-f]{64}$/.test(text)) throw invalid('a key of 32 bytes as 0x-hexadecimal', `${text.length} characters`);
  return fromHex(text);
}

function read(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw invalid(`${path}: a readable file`, (error as NodeJS.ErrnoException).code ?? 'an error');
  }
}

function invalid(expected: string, got: string): ConfigurationError {
  return new ConfigurationError('LOG_CONFIG', { expected, got, rule: 'apps/log/README.md' });
}
