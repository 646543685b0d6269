/**
 * A transparency log and a witness of the system's own, as processes: they show how logging works, and to nobody else that
 * anything happened.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ed25519 } from '@noble/curves/ed25519.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { ed25519Signer, signRecoverable, to0x } from '#attestation/base';
import {
  issuerDigest,
  makePublicEntry,
  noteKeyText,
  parseTrustPolicy,
  type NoteKey,
  type TrustPolicy,
} from '#attestation/log';
import { writeSecret, writeWhole } from '#libs/client/files';
import { submitEntry } from '#libs/log';
import { freePort } from '#libs/process';
import { simulatedMeasurement } from '#libs/simulated-vendor';
import { newSecret } from './keys.js';
import { startApp, type RunningProcess } from './process.js';

/** Whoever looks at the names sees that log and witness are one party's. */
const organisation = 'own-log.invalid';
const validSeconds = 366 * 86_400;
const intervalMs = 200;

export interface OwnLog {
  readonly url: string;
  /** Trust policy for readers, tlog-policy. */
  readonly policyFile: string;
  /** `log` of the key broker's settings; paths are relative to them. */
  readonly brokerSettings: Readonly<Record<string, string>>;
  readonly controlPlane: Readonly<Record<string, string>>;
  /** Starts both, and logs whose account the broker's key speaks for. @param account secret of the broker's account */
  start(account: Uint8Array, address: Uint8Array): Promise<readonly RunningProcess[]>;
}

const brokerKinds = ['policy', 'key-release', 'session-end', 'journal-head'];

interface Issuer {
  readonly name: string;
  readonly secret: Uint8Array;
  readonly kinds: readonly string[];
}

function newIssuers() {
  return {
    owner: { name: 'log-owner.invalid', secret: newSecret(), kinds: ['issuer', 'anchor'] },
    controlPlane: {
      name: 'control-plane.invalid',
      secret: newSecret(),
      kinds: ['job-bundle', 'policy', 'journal-head'],
    },
    broker: { name: 'key-broker.invalid', secret: newSecret(), kinds: brokerKinds },
    publisher: {
      name: 'publisher.invalid',
      secret: newSecret(),
      kinds: ['image', 'policy', 'floors', 'revocation'],
    },
  } satisfies Readonly<Record<string, Issuer>>;
}

/** Keys, settings and the trust policy, below `<folder>/log`. */
export async function layOutOwnLog(folder: string, logs: string): Promise<OwnLog> {
  const home = join(folder, 'log');
  const images = join(home, 'images');
  for (const part of ['witness', 'images']) mkdirSync(join(home, part), { recursive: true, mode: 0o700 });
  const [port, witnessPort] = [await freePort(), await freePort()];
  const [logSecret, witnessSecret] = [newSecret(), newSecret()];
  const url = `http://127.0.0.1:${port}`;
  const origin = `${organisation}/log/${new Date().getUTCFullYear()}`;
  const log: NoteKey = { name: origin, use: 'log', publicKey: ed25519.getPublicKey(logSecret) };
  const witnessName = `${organisation}/witness`;
  const witness: NoteKey = { name: witnessName, use: 'witness', publicKey: ed25519.getPublicKey(witnessSecret) };
  const text = [
    '# A log and a witness of one system, on one machine: nobody independent saw anything.',
    `log ${noteKeyText(log)} ${url}`,
    `witness own ${noteKeyText(witness)} http://127.0.0.1:${witnessPort}`,
    'quorum own',
    '',
  ].join('\n');
  const issuers = newIssuers();
  const policyFile = join(home, 'log.policy');
  writeWhole(policyFile, text);
  writeSecret(join(home, 'log.test-key'), logSecret);
  writeSecret(join(home, 'witness', 'witness.test-key'), witnessSecret);
  writeSecret(join(home, 'control-plane.test-key'), issuers.controlPlane.secret);
  writeSecret(join(home, 'broker.test-key'), issuers.broker.secret);
  const listed = Object.values(issuers).map(({ name, secret, kinds }) => {
    return { name, publicKey: to0x(ed25519.getPublicKey(secret)), kinds };
  });
  const config = join(home, 'log.json');
  const settings = { port, origin, key: 'log.test-key', witnesses: 'log.policy', issuers: listed, intervalMs };
  writeWhole(config, JSON.stringify({ ...settings, logLevel: 'warn' }));
  const witnessConfig = join(home, 'witness', 'witness.json');
  const ofWitness = { port: witnessPort, name: witnessName, key: 'witness.test-key', logs: '../log.policy' };
  writeWhole(witnessConfig, JSON.stringify({ ...ofWitness, logLevel: 'warn' }));
  return {
    url,
    policyFile,
    brokerSettings: {
      ...{ url, policy: '../log/log.policy', key: '../log/broker.test-key', issuer: issuers.broker.name },
      ...{ issuerEntry: '../log/broker-issuer.entry', issuerProof: '../log/broker-issuer.proof' },
    },
    controlPlane: {
      ...{ VERITRAIN_LOG_URL: url, VERITRAIN_LOG_POLICY: policyFile, VERITRAIN_LOG_ISSUER: issuers.controlPlane.name },
      VERITRAIN_LOG_KEY: join(home, 'control-plane.test-key'),
      VERITRAIN_LOG_IMAGES: images,
    },
    async start(account, address) {
      const running = await Promise.all([
        startApp('witness', logs, { VERITRAIN_WITNESS_CONFIG: witnessConfig }),
        startApp('log', logs, { VERITRAIN_LOG_CONFIG: config }),
      ]);
      const submit = submitting(url, parseTrustPolicy(text));
      await Promise.all([
        submit(join(home, 'broker-issuer'), await issuerEntry(issuers.owner, issuers.broker, account, address)),
        submit(join(images, 'simulated-enclave'), await imageEntry(issuers.publisher)),
      ]);
      return running;
    },
  };
}

/** @returns what logs an entry and writes NAME.proof and NAME.entry */
function submitting(url: string, policy: TrustPolicy) {
  return async (name: string, entry: Uint8Array): Promise<void> => {
    const proved = await submitEntry(url, entry, policy, { wait: 'witnessed', withinMs: 60_000 });
    writeWhole(`${name}.proof`, proved.text);
    writeWhole(`${name}.entry`, entry);
  };
}

/** That the broker's log key speaks for its account. */
function issuerEntry(owner: Issuer, of: Issuer, account: Uint8Array, address: Uint8Array): Promise<Uint8Array> {
  const at = Math.floor(Date.now() / 1000);
  const key = ed25519.getPublicKey(of.secret);
  const [validFrom, until] = [at - 60, at + validSeconds];
  const signature = signRecoverable(issuerDigest(key, validFrom, until), account);
  const body = { key, name: of.name, kinds: [...of.kinds], validFrom, until, account: { address, signature } };
  return makePublicEntry(signerOf(owner), 'issuer', body, at);
}

/** What simulated hardware measures of every enclave. */
function imageEntry(publisher: Issuer): Promise<Uint8Array> {
  const measurements = [{ kind: 'simulated-snp', value: simulatedMeasurement }];
  const named = { name: 'enclave on simulated hardware', version: 'this clone', digest: sha256(simulatedMeasurement) };
  const body = { ...named, measurements, commit: new Uint8Array(20), sbom: null };
  return makePublicEntry(signerOf(publisher), 'image', body, Math.floor(Date.now() / 1000));
}

const signerOf = ({ name, secret }: Issuer) => {
  return { name, publicKey: ed25519.getPublicKey(secret), sign: ed25519Signer(secret) };
};
