/** The settings of a witness: one JSON file, paths relative to it. */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ed25519 } from '@noble/curves/ed25519.js';
import { z } from 'zod';
import { ConfigurationError, fromHex, utf8 } from '#attestation/base';
import { parseTrustPolicy } from '#attestation/log';
import type { WitnessParts } from './witness.js';

const Settings = z.strictObject({
  port: z.int().min(0).max(65_535).default(0),
  host: z.string().default('127.0.0.1'),
  logLevel: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** Its key's name; the first part is the organisation that answers for it. */
  name: z.string().min(3).max(200),
  /** Ed25519 secret; file with 32 bytes hex. It must sign nothing else. */
  key: z.string(),
  /** tlog-policy whose `log` lines are the logs that it watches. */
  logs: z.string(),
  state: z.string().default('state'),
});

interface WitnessSettings extends Omit<WitnessParts, 'now'> {
  readonly host: string;
  readonly port: number;
  readonly logLevel: z.infer<typeof Settings>['logLevel'];
}

/** @throws ConfigurationError WITNESS_CONFIG; Rejection LOG_TRUST_POLICY, LOG_KEY */
export function loadSettings(path: string): WitnessSettings {
  const result = Settings.safeParse(document(path));
  if (!result.success) {
    const issue = result.error.issues[0]!;
    throw invalid(issue.message, issue.path.join('.') || 'the document');
  }
  const { name, key, logs, state, ...shared } = result.data;
  const at = (file: string): string => resolve(dirname(path), file);
  const text = read(at(key)).trim();
  if (!/^0x[0-9a-f]{64}$/.test(text)) throw invalid('a key of 32 bytes as 0x-hexadecimal', `${text.length} characters`);
  const secret = fromHex(text);
  return {
    ...shared,
    key: { name, use: 'witness', publicKey: ed25519.getPublicKey(secret) },
    sign: (message) => ed25519.sign(utf8(message), secret),
    logs: parseTrustPolicy(read(at(logs))).logs.map((log) => log.key),
    state: at(state),
  };
}

function document(path: string): unknown {
  try {
    return JSON.parse(read(path));
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    throw invalid('a JSON document', 'something else');
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw invalid(`${path}: a readable file`, (error as NodeJS.ErrnoException).code ?? 'an error');
  }
}

function invalid(expected: string, got: string): ConfigurationError {
  return new ConfigurationError('WITNESS_CONFIG', { expected, got, rule: 'apps/witness/README.md' });
}
