import { describe, expect, it } from 'vitest';
import { toHex } from '#attestation/base';
import { P } from '../commit/field/goldilocks.js';
import { createEngine } from '../commit/kernels/index.js';
import { KernelBackend } from '../prover/kernel-backend.js';
import { proveSegment } from '../prover/prove.js';
import { derivePlanUnchecked } from '../relation/plan.js';
import { codeOfProof, flipped } from '../testing/lies.js';
import { seedOf, testManifest, testProfile, testSegment } from '../testing/segments.js';
import type { StepProofStatement } from './statement.js';

const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
const { plan, input } = testSegment(backend);
const { proof, statement } = proveSegment(backend, plan, input);
const separate = testSegment(backend, { variant: 'separate' });
const { plan: blake3Plan, input: blake3Input } = testSegment(backend, { profile: { ...testProfile, hash: 'blake3' } });
const blake3 = proveSegment(backend, blake3Plan, blake3Input);
const separateProof = proveSegment(backend, separate.plan, separate.input);

const codeOf = (bytes: Uint8Array, changed: StepProofStatement = statement, under = plan): string =>
  codeOfProof(under, changed, bytes);

const proofCodes =
  /^STEP_(NONCANONICAL|POW|MERKLE_W0|MERKLE_J|MERKLE_WT|MERKLE_S|MERKLE_D|MERKLE_L1|FINAL_CHECK|PROOF_LENGTH)$/;

describe('changed proofs', () => {
  it('are accepted unchanged', () => {
    expect(codeOf(proof)).toBe('accepted');
  });

  it('are rejected wherever a byte changes, with a code of the protocol', () => {
    const codes = new Set<string>();
    const steps = Number(process.env.VERITRAIN_MUTATIONS ?? 200);
    for (let k = 0; k < steps; k++) {
      const random = new DataView(seedOf(`mutation ${k}`).buffer);
      const code = codeOf(flipped(proof, random.getUint32(0) % proof.length, 1 << (random.getUint8(4) % 8)));
      expect(code).toMatch(proofCodes);
      codes.add(code);
    }
    expect(codes.size).toBeGreaterThan(4);
  });

  it('are rejected wherever a byte changes where trees and nonces are on BLAKE3', () => {
    expect(codeOf(blake3.proof, blake3.statement, blake3Plan)).toBe('accepted');
    const codes = new Set<string>();
    for (let k = 0; k < Number(process.env.VERITRAIN_MUTATIONS ?? 200); k++) {
      const random = new DataView(seedOf(`mutation on BLAKE3 ${k}`).buffer);
      const at = random.getUint32(0) % blake3.proof.length;
      const code = codeOf(flipped(blake3.proof, at, 1 << (random.getUint8(4) % 8)), blake3.statement, blake3Plan);
      expect(code).toMatch(proofCodes);
      codes.add(code);
    }
    expect(codes.size).toBeGreaterThan(4);
  });

  it('are rejected where the plan names the other hash', () => {
    expect(codeOf(proof, statement, blake3Plan)).toBe('MERKLE_PATH');
    expect(codeOf(blake3.proof, blake3.statement)).toBe('MERKLE_PATH');
  });

  it('are rejected when an element is not canonical', () => {
    const bytes = Uint8Array.from(proof);
    const view = new DataView(bytes.buffer);
    view.setBigUint64(0, 2n ** 64n - 1n);
    expect(codeOf(bytes)).toBe('STEP_NONCANONICAL');
    const small = Array.from({ length: 400 }, (_, k) => 8 * k).find((at) => view.getBigUint64(at) < 2n ** 64n - P);
    if (small !== undefined) {
      view.setBigUint64(0, new DataView(proof.buffer).getBigUint64(0));
      view.setBigUint64(small, view.getBigUint64(small) + P);
      expect(codeOf(bytes)).toBe('STEP_NONCANONICAL');
    }
  });

  it('are rejected when shortened or lengthened', () => {
    for (const length of [0, 1, 16, proof.length - 1, proof.length - 16]) {
      expect(codeOf(proof.subarray(0, length))).toBe('STEP_PROOF_LENGTH');
    }
    expect(codeOf(new Uint8Array([...proof, 0]))).toBe('STEP_PROOF_LENGTH');
    expect(codeOf(new Uint8Array(5_000_000))).toBe('STEP_PROOF_LENGTH');
  });
});

describe('changed statements', () => {
  const other = seedOf('other');
  it.each<[string, Partial<StepProofStatement>, string]>([
    ['outer statement', { outerDigest: other }, ''],
    ['weights before', { before: { ...statement.before, root: other } }, ''],
    ['value of the weights before', { before: { ...statement.before, ood: statement.after.ood } }, ''],
    ['weights after', { after: { ...statement.after, root: other } }, ''],
    ['value of the weights after', { after: { ...statement.after, ood: statement.before.ood } }, ''],
    ['segment', { index: 1 }, 'MERKLE_PATH'],
    ['data', { data: { ...statement.data, root: other } }, 'MERKLE_PATH'],
    ['data set', { datasetRoot: other }, 'MERKLE_PATH'],
    ['segment beyond the job', { index: 64 }, 'STEP_STATEMENT'],
    ['negative segment', { index: -1 }, 'STEP_STATEMENT'],
    ['fractional segment', { index: 0.5 }, 'STEP_STATEMENT'],
    ['short digest', { outerDigest: other.subarray(1) }, 'STEP_STATEMENT'],
    ['value above p', { before: { ...statement.before, ood: new Uint8Array(32).fill(255) } }, 'STEP_STATEMENT'],
  ])('%s', (_name, change, code) => {
    const got = codeOf(proof, { ...statement, ...change });
    if (code) expect(got).toBe(code);
    else expect(got).toMatch(proofCodes);
  });

  it('another schedule, profile or variant', () => {
    const manifest = testManifest({ m: [[0, 2]] });
    expect(codeOf(proof, { ...statement, manifest }, derivePlanUnchecked(manifest, testProfile, 'joint'))).toMatch(
      proofCodes,
    );
    const narrow = { ...testProfile, digestBytes: 26 };
    expect(codeOf(proof, statement, derivePlanUnchecked(statement.manifest, narrow, 'joint'))).toBe('MERKLE_PATH');
    expect(codeOf(proof, statement, separate.plan)).toMatch(proofCodes);
  });
});

describe('the separate variant', () => {
  it('commits to given weights: the after commitment does not depend on the prover', () => {
    const again = testSegment(backend, { variant: 'separate', secret: 'another' });
    const second = proveSegment(backend, again.plan, again.input);
    expect(toHex(second.statement.after.root)).toBe(toHex(separateProof.statement.after.root));
    expect(toHex(second.proof)).not.toBe(toHex(separateProof.proof));
  });

  it('rejects changed bytes', () => {
    for (let k = 0; k < 40; k++) {
      const at = new DataView(seedOf(`separate ${k}`).buffer).getUint32(0) % separateProof.proof.length;
      expect(codeOf(flipped(separateProof.proof, at), separateProof.statement, separate.plan)).toMatch(proofCodes);
    }
  });
});
