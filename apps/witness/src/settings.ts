/** The settings of a witness: one JSON file, paths relative to it. */
import { dirname, resolve } from 'node:path';
import { ed25519 } from '@noble/curves/ed25519.js';
import { z } from 'zod';
import { utf8 } from '#attestation/base';
import { parseTrustPolicy } from '#attestation/log';
import { settingsFiles } from '#libs/process';
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

const files = settingsFiles('WITNESS_CONFIG', 'apps/witness/README.md');

/** @throws ConfigurationError WITNESS_CONFIG; Rejection LOG_TRUST_POLICY, LOG_KEY */
export function loadSettings(path: string): WitnessSettings {
  const { name, key, logs, state, ...shared } = files.parse(Settings, path);
  const at = (file: string): string => resolve(dirname(path), file);
  const secret = files.secret(at(key));
  return {
    ...shared,
    key: { name, use: 'witness', publicKey: ed25519.getPublicKey(secret) },
    sign: (message) => ed25519.sign(utf8(message), secret),
    logs: parseTrustPolicy(files.read(at(logs)).toString('utf8')).logs.map((log) => log.key),
    state: at(state),
  };
}
