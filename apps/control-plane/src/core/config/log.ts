/** The transparency log that this control plane submits to, and the key that signs its entries. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ed25519 } from '@noble/curves/ed25519.js';
import { CodedError, ed25519Signer, fromHex } from '#attestation/base';
import { parseTrustPolicy, type EntryIssuer, type TrustPolicy } from '#attestation/log';
import type { BundledEntry } from '#attestation/records';
import { invalid } from './config-error.js';

const imagesMost = 1000;

export interface LogConfig {
  /** The log's prefix. */
  readonly url: string;
  /** The log, and the witnesses whose quorum an entry must have. */
  readonly policy: TrustPolicy;
  readonly issuer: EntryIssuer;
  /** Finds the entries of one job, 32 bytes: the same for every replica. */
  readonly watchKeyOf: (jobId: string) => Uint8Array;
  /** Image entries that publishers logged, with their proofs; read whenever a bundle is shown with the log. */
  readonly images: () => readonly BundledEntry[];
}

interface LogEnvironment {
  readonly VERITRAIN_LOG_URL?: string | undefined;
  readonly VERITRAIN_LOG_POLICY?: string | undefined;
  readonly VERITRAIN_LOG_KEY?: string | undefined;
  readonly VERITRAIN_LOG_ISSUER?: string | undefined;
  /** Folder of NAME.entry and NAME.proof. */
  readonly VERITRAIN_LOG_IMAGES?: string | undefined;
}

/** @throws ConfigurationError CONFIG_LOG */
export function readLog(env: LogEnvironment): LogConfig | null {
  const { VERITRAIN_LOG_URL: url, VERITRAIN_LOG_POLICY: policy, VERITRAIN_LOG_KEY: key } = env;
  const name = env.VERITRAIN_LOG_ISSUER;
  if ([url, policy, key, name].every((value) => value === undefined)) return null;
  if (url === undefined || policy === undefined || key === undefined || name === undefined) {
    throw invalid('CONFIG_LOG', 'all of VERITRAIN_LOG_URL, _POLICY, _KEY and _ISSUER', 'some of them');
  }
  const secret = secretIn(key);
  return {
    url: url.replace(/\/$/, ''),
    policy: policyIn(policy),
    issuer: { name, publicKey: ed25519.getPublicKey(secret), sign: ed25519Signer(secret) },
    images: () => (env.VERITRAIN_LOG_IMAGES === undefined ? [] : imagesIn(env.VERITRAIN_LOG_IMAGES)),
    watchKeyOf: (jobId) => {
      const key = createHash('sha256').update('veritrain job watch/1').update(secret).update(fromHex(jobId)).digest();
      return new Uint8Array(key);
    },
  };
}

function imagesIn(folder: string): BundledEntry[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.entry'));
  return names.slice(0, imagesMost).map((name) => {
    const proof = readFileSync(join(folder, `${name.slice(0, -'.entry'.length)}.proof`), 'utf8');
    return { entry: new Uint8Array(readFileSync(join(folder, name))), opening: null, proof };
  });
}

function secretIn(path: string): Uint8Array {
  const text = read('VERITRAIN_LOG_KEY', path).trim();
  if (/^0x[0-9a-f]{64}$/.test(text)) return fromHex(text);
  throw invalid('CONFIG_LOG', 'VERITRAIN_LOG_KEY: a file with 32 bytes as 0x-hexadecimal', `${text.length} characters`);
}

function policyIn(path: string): TrustPolicy {
  try {
    return parseTrustPolicy(read('VERITRAIN_LOG_POLICY', path));
  } catch (error) {
    if (!(error instanceof CodedError) || error.code === 'CONFIG_LOG') throw error;
    throw invalid('CONFIG_LOG', `VERITRAIN_LOG_POLICY: ${error.detail.expected}`, error.detail.got);
  }
}

function read(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw invalid('CONFIG_LOG', `${name}: a readable file`, (error as NodeJS.ErrnoException).code ?? 'an error');
  }
}
