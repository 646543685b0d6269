/** The log of a tiny job: what a control plane and a key broker log of it, among entries of others, as a bundle shows it. */
import { randomBytes } from 'node:crypto';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { resultsTier, verifyBundle } from '#attestation';
import { addressOfPublicKey, ed25519Signer, fromHex, signRecoverable, uintBe, utf8 } from '#attestation/base';
import {
  cosign,
  encodeLogExport,
  issuerDigest,
  leafHash,
  logProofText,
  makePublicEntry,
  makeSealedEntry,
  noteKeyText,
  parseCheckpoint,
  treeRoot,
  type EntryBody,
  type EntryIssuer,
  type Opening,
} from '#attestation/log';
import {
  bundleDigest,
  encodeBundle,
  escrowIdOf,
  keysDigest,
  parseSessionEvidence,
  type BundledEntry,
  type BundledLog,
  type EvidenceBundle,
} from '#attestation/records';
import { logKeyOf } from './log-keys.js';
import { consistencyPathOf, pathOf } from './log-tree.js';
import { signingSecret, tinyAt, type TinyJob } from './tiny-job.js';

const testLog = logKeyOf('log.example/test/2026');
const testWitness = logKeyOf('witness.example/test', 'witness');
const stranger = logKeyOf('stranger.example/test', 'witness');

export const trustText = [
  `log ${noteKeyText(testLog.key)}`,
  `witness w1 ${noteKeyText(testWitness.key)}`,
  'quorum w1',
  '',
].join('\n');

const random = (size: number): Uint8Array => new Uint8Array(randomBytes(size));

export function issuerOf(name: string): EntryIssuer {
  const { key, secret } = logKeyOf(name);
  return { name, publicKey: key.publicKey, sign: ed25519Signer(secret) };
}

const controlPlane = issuerOf('control-plane.example');
const broker = issuerOf('broker.example');
const publisher = issuerOf('publisher.example');

export interface Made {
  readonly entry: Uint8Array;
  readonly opening: Opening | null;
}

const jobWatchKey = sha256(utf8('test watch key of a job'));

export async function issuerEntry(of: EntryIssuer = broker, secret = signingSecret): Promise<Made> {
  const [validFrom, until] = [tinyAt - 1000, tinyAt + 1_000_000];
  const signature = signRecoverable(issuerDigest(of.publicKey, validFrom, until), secret);
  const account = { address: addressOfPublicKey(secp256k1.getPublicKey(signingSecret, false)), signature };
  const body = { key: of.publicKey, name: of.name, kinds: ['key-release'], validFrom, until, account };
  return { entry: await makePublicEntry(issuerOf('log.example'), 'issuer', body, tinyAt - 900), opening: null };
}

export async function policyEntry(job: TinyJob): Promise<Made> {
  const body = { ...{ id: job.policy.id, digest: job.spec.policyDigest }, document: null, signers: [], validFrom: 0 };
  return { entry: await makePublicEntry(controlPlane, 'policy', body, tinyAt - 800), opening: null };
}

/** Of every launch that the sessions of the bundle show. */
export async function imageEntry(job: TinyJob, bundle: EvidenceBundle, change: object = {}): Promise<Made> {
  const { sessions } = await verifyBundle({ bundle: encodeBundle(bundle), policy: job.policy });
  const launches = sessions.map(({ instance }) => [instance!.kind, instance!.measurement] as const);
  const measurements = [...new Map(launches.map(([kind, value]) => [value, { kind, value: fromHex(value) }])).values()];
  const digest = sha256(utf8('image'));
  const body = { name: 'enclave', version: '1.2.3', digest, measurements, commit: new Uint8Array(20), sbom: null };
  return { entry: await makePublicEntry(publisher, 'image', { ...body, ...change }, tinyAt - 850), opening: null };
}

const revocationEntry = (body: EntryBody<'revocation'>): Promise<Uint8Array> =>
  makePublicEntry(publisher, 'revocation', body, tinyAt + 10);

/** A newer log with those revocations among entries of others, as its reader exports it. */
export async function exportOf(
  bodies: readonly EntryBody<'revocation'>[],
  {
    others = 40,
    isCosigned = true,
    log = testLog,
  }: { others?: number; isCosigned?: boolean; log?: typeof testLog } = {},
): Promise<Uint8Array> {
  const entries = await Promise.all(bodies.map(revocationEntry));
  const leaves = [...Array.from({ length: others }, (_, at) => leafHash(uintBe(at, 4))), ...entries.map(leafHash)];
  const note = log.note(leaves.length, treeRoot(leaves));
  const line = cosign(parseCheckpoint(note), testWitness.key, tinyAt + 60, testWitness.sign);
  const revocations = entries.map((entry, at) => {
    return { entry, index: others + at, path: pathOf(leaves, others + at) };
  });
  return encodeLogExport({ v: 1, note: isCosigned ? note + line : note, revocations });
}

export function releaseEntry(
  job: TinyJob,
  { evidence, grant: { grant, notAfter } }: EvidenceBundle['sessions'][number],
  by: EntryIssuer = broker,
): Promise<Made> {
  const body = {
    job: escrowIdOf(job.terms),
    dataset: job.spec.dataset.id,
    keys: keysDigest(parseSessionEvidence(evidence).binding),
    evidence: sha256(evidence),
    ...{ grant: grant!, notAfter },
  };
  return makeSealedEntry(by, 'key-release', body, { at: tinyAt, watchKeys: [], random });
}

export function bundleEntry(job: TinyJob, bundle: EvidenceBundle, change: object = {}, at = tinyAt): Promise<Made> {
  const body = {
    bundle: bundleDigest(bundle),
    escrow: escrowIdOf(job.terms),
    policy: job.spec.policyDigest,
    ...{ tier: resultsTier(bundle.sessions), verifier: 'veritrain test', outcome: bundle.run.outcome },
    ...change,
  };
  return makeSealedEntry(controlPlane, 'job-bundle', body, { at, watchKeys: [jobWatchKey], random });
}

interface LogOptions {
  /** Seconds after `tinyAt` at which the witness saw each checkpoint. */
  readonly after?: number;
  readonly log?: typeof testLog;
  readonly isCosigned?: boolean;
  readonly byStranger?: boolean;
}

/** Entries of others before, between and behind; each entry is proved under a checkpoint of its own. */
export function logOf(entries: readonly Made[], options: LogOptions = {}): BundledLog {
  const { after = 5, log = testLog, isCosigned = true, byStranger = false } = options;
  const other = (seed: number): Uint8Array => leafHash(uintBe(seed, 4));
  const leaves: Uint8Array[] = [other(0), other(1)];
  const sizes: number[] = [];
  const shown = entries.map(({ entry, opening }): BundledEntry => {
    leaves.push(leafHash(entry));
    const index = leaves.length - 1;
    leaves.push(other(index));
    sizes.push(leaves.length);
    const note = log.note(leaves.length, treeRoot(leaves));
    const witness = byStranger ? stranger : testWitness;
    const line = isCosigned ? cosign(parseCheckpoint(note), witness.key, tinyAt + after, witness.sign) : '';
    return { entry, opening, proof: logProofText(index, pathOf(leaves, index), note + line) };
  });
  const consistency = sizes.slice(1).map((size, at) => consistencyPathOf(leaves.slice(0, size), sizes[at]!));
  return { watchKey: jobWatchKey, entries: shown, consistency };
}

/** What an honest control plane and an honest key broker log of the job, in the order in which it happens. */
export async function honestEntries(job: TinyJob, bundle: EvidenceBundle): Promise<Made[]> {
  const releases = await Promise.all(bundle.sessions.map((session) => releaseEntry(job, session)));
  const images = await imageEntry(job, bundle);
  return [await issuerEntry(), await policyEntry(job), images, ...releases, await bundleEntry(job, bundle)];
}
