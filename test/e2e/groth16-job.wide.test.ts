/** A small job without a TEE that Groth16 proves: dispatched to the node with its key, paid by the contract, believed by readers. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe as describeAlways, expect, it } from 'vitest';
import { verifyBundle } from '#attestation';
import { fromHex } from '#attestation/base';
import { encodeBundle, parseBundle, type EvidenceBundle } from '#attestation/records';
import {
  fetchBundle,
  fetchResult,
  followJob,
  loadProfile,
  openApi,
  openChain,
  ownTerms,
  type CheckedResult,
} from '#libs/client';
import { readPolicy, verifyBundleFile } from '#libs/client/judging';
import { writeWhole } from '#libs/client/files';
import { verifyBundledProof, verifyBundledProofUnder } from '#libs/proof';
import { startBorder } from '#libs/review';
import { initialWeights, stateDigest } from '#libs/step';
import { hasGroth16Tools } from '#test/groth16-tools';
import { runCommand } from '#test/run-command';
import { groth16Manifest, smallGroth16Request } from '#test/small-groth16';
import { writeManifest } from '#test/small-job';
import type { MadeKey } from '../../apps/cli/src/proof/key-process.js';
import { startEmbedded, type EmbeddedSystem } from '../../apps/cli/src/system/embedded.js';

const describe = describeAlways.skipIf(!hasGroth16Tools);
const folder = mkdtempSync(join(tmpdir(), 'veritrain-groth16-job-'));
const bundleFile = join(folder, 'job.vtb');
const segments = 3;
const manifest = { ...groth16Manifest, steps: segments };
let system: EmbeddedSystem;
let key: MadeKey;
let result: CheckedResult;
let bundle: EvidenceBundle;
let provedOnChain: number;
let submitted: Record<string, unknown>;

async function done(...command: readonly string[]): Promise<Record<string, unknown>> {
  const { code, json } = await runCommand(...command);
  expect(code, JSON.stringify(json)).toBe(0);
  return json;
}

beforeAll(async () => {
  if (!hasGroth16Tools) return;
  const keys = join(folder, 'keys');
  const file = writeManifest(join(folder, 'manifest.json'), manifest);
  key = (await done('proof', 'key', '--manifest', file, '--out', keys)) as unknown as MadeKey;
  system = await startEmbedded({
    folder: join(folder, 'system'),
    vendorFile: join(tmpdir(), 'veritrain-test-simulated-vendor.json'),
    ...{ enclave: false, provers: [{ threads: 1 }], groth16Keys: keys },
  });
  const profile = loadProfile(system.profileFile);
  const api = openApi(profile);
  const { images, labels } = smallGroth16Request() as { images: string; labels: string };
  const data = join(folder, 'data');
  const dataKey = join(profile.broker.keysFolder, 'data.json');
  const files = ['--manifest', file, '--images', images, '--labels', labels, '--out', data, '--key', dataKey];
  await done('dataset', 'seal', '--groth16', ...files);
  const order = ['--manifest', file, '--dataset', data, '--segment-steps', '1', '--profile', system.profileFile];
  const backend = ['--backend', 'groth16', '--groth16-key', join(key.folder, 'key.json')];
  submitted = await done('job', 'submit', '--assurance', 'zk', ...order, ...backend);
  const jobId = String(submitted['jobId']);
  await followJob(jobId, api, () => undefined, ['delivered', 'settled']);
  const { policy } = readPolicy(profile.policy);
  result = await fetchResult(jobId, profile, policy, api);
  const bytes = await fetchBundle(jobId, profile, policy, api);
  writeWhole(bundleFile, bytes);
  bundle = parseBundle(bytes) as EvidenceBundle;
  const chain = openChain(profile);
  provedOnChain = (await chain.escrow.job(ownTerms(profile, jobId))).proved;
  chain.close();
}, 600_000);
afterAll(async () => {
  await system?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const development = { takesDevelopmentKeys: true };
const judge = (changed: EvidenceBundle, keys = development) =>
  verifyBundle({ bundle: encodeBundle(changed), proofs: verifyBundledProofUnder(keys), startOf: startBorder });

describe('a job in scheme fxt-groth16/1', () => {
  it('is trained, proved segment by segment, verified by the contract, paid, and opened by its client', () => {
    expect(submitted).toMatchObject({ scheme: 'fxt-groth16/1', assurance: 'zk', why: ['it was asked for by name'] });
    expect(submitted['provider']).toBe(system.prover.toLowerCase());
    expect(result.verdict).toMatchObject({ tier: 'affirming', steps: segments });
    expect(result.verdict.segments.every(({ isProved, isSigned }) => isProved && !isSigned)).toBe(true);
    expect(result.settledBy).toMatch(/^0x[0-9a-f]{64}$/);
    expect(provedOnChain).toBe(segments);
    expect(result.stateDigest).not.toBe(Buffer.from(stateDigest(manifest, initialWeights(manifest))).toString('hex'));
  });

  it('has a bundle that verifies alone and says which key it rests on', async () => {
    const { tier, checks } = await verifyBundleFile(bundleFile, { developmentKeys: true });
    expect(tier).toBe('warning');
    expect(checks.find(({ code }) => code === 'BUNDLE_START')?.status).toBe('met');
    const found = (code: string) => checks.find((check) => check.code === code);
    expect(found('BUNDLE_PROOFS')?.got).toBe('3 proofs of at least 100.0 bits');
    const got = `the development setup of Groth16 key ${key.verificationKey}`;
    expect(found('BUNDLE_SETUP')).toMatchObject({ status: 'warned', got });
  });

  it.each<[string, string, (b: EvidenceBundle) => EvidenceBundle]>([
    ['a proof left out', 'BUNDLE_PROOFS', (b) => withSegment(b, 1, { proof: null })],
    ['the proofs exchanged', 'PROOF_FOREIGN', (b) => withSegment(b, 1, { proof: b.segments[0]!.proof })],
    ['a byte of a proof changed', 'STEP_', (b) => withSegment(b, 0, { proof: changed(b, -1) })],
    ['another key in a proof', 'PROOF_FOREIGN', (b) => withSegment(b, 0, { proof: changed(b, 100) })],
    ['other start weights', 'STEP_FINAL_CHECK', (b) => withSegment(b, 0, { proof: otherBorder(b) })],
    ['a run that names other borders', 'BUNDLE_RUN', (b) => ({ ...b, run: { ...b.run, last: new Uint8Array(32) } })],
  ])('is not believed with %s', async (_name, code, change) => {
    const { tier, checks } = await judge(change(bundle));
    expect(tier).toBe('contraindicated');
    const failed = checks
      .filter(({ status }) => status === 'forged' || status === 'refused')
      .map((check) => check.code);
    expect(
      failed.some((found) => found.startsWith(code)),
      failed.join(),
    ).toBe(true);
  });

  it('is judged so by the command too', async () => {
    const strict = await runCommand('bundle', 'verify', bundleFile, '--own-policy');
    expect([strict.code, strict.json['tier']]).toEqual([1, 'contraindicated']);
    const own = ['--own-policy', '--development-keys', '--verification-key', key.verificationKey];
    expect((await runCommand('bundle', 'verify', bundleFile, ...own)).json).toMatchObject({
      ok: true,
      tier: 'warning',
    });
  });

  it('is not believed by whoever takes no development keys, or another key alone', async () => {
    const codes = async (proofs: typeof verifyBundledProof) =>
      (await verifyBundle({ bundle: encodeBundle(bundle), proofs, startOf: startBorder })).checks.map(
        ({ code }) => code,
      );
    expect(await codes(verifyBundledProof)).toContain('GROTH16_DEVELOPMENT');
    const other = verifyBundledProofUnder({ ...development, verificationKey: new Uint8Array(32) });
    expect(await codes(other)).toContain('GROTH16_KEY');
    const own = verifyBundledProofUnder({ ...development, verificationKey: fromHex(key.verificationKey) });
    expect(await codes(own)).toContain('BUNDLE_PROOFS');
    const { checks } = await verifyBundle({ bundle: encodeBundle(bundle), proofs: own, startOf: startBorder });
    expect(checks.find(({ code }) => code === 'BUNDLE_SETUP')?.status).toBe('met');
  });
});

type Segment = EvidenceBundle['segments'][number];

function withSegment(b: EvidenceBundle, at: number, change: Partial<Segment>): EvidenceBundle {
  return { ...b, segments: b.segments.map((segment, i) => (i === at ? { ...segment, ...change } : segment)) };
}

/** The first segment's proof with one byte changed, counted from the end where negative. */
function changed(b: EvidenceBundle, at: number) {
  const proof = b.segments[0]!.proof!;
  const place = at < 0 ? proof.bytes.length + at : at;
  return { ...proof, bytes: proof.bytes.map((byte, i) => (i === place ? byte ^ 1 : byte)) };
}

function otherBorder(b: EvidenceBundle) {
  const proof = b.segments[0]!.proof!;
  const document = JSON.parse(proof.document) as { borders: string[] };
  return { ...proof, document: JSON.stringify({ ...document, borders: [document.borders[1], document.borders[1]] }) };
}
