/** A job in proofs of sixty-four steps each, of segments of two, under `unit64`: from plain files to a verified bundle. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { parseProofStatement, planOf, proofUnitOf, verifyProofBundle } from '#libs/proof';
import { blockOfStep, initialWeights, profileManifest, sliceExamples, stateDigest, stepReference } from '#libs/step';
import { writeIdx } from '#test/idx-file';
import { loadExamples } from './files.js';
import { proveFiles } from './prove-files.js';
import { parseProveRequest } from './request.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-units-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const manifest = profileManifest('fx1', {
  ...{ dims: [6, 5, 3], batch: 4, e: 5, steps: 100, superblock: 2, seed: `0x${'5a'.repeat(32)}` },
});
const count = 32;

function codeOf(run: () => unknown): string {
  try {
    run();
    return 'accepted';
  } catch (error) {
    return (error as { code: string }).code;
  }
}

it('covers the whole job in two proofs, with the weights of the reference', { timeout: 600_000 }, async () => {
  const files = {
    images: writeIdx(join(folder, 'images'), [count, 2, 3], (i) => (i * 73 + (i >> 3)) & 255),
    labels: writeIdx(join(folder, 'labels'), [count], (i) => i % 3),
  };
  const { report, proof, statement } = await proveFiles(
    parseProveRequest({
      ...{ manifest, from: 0, steps: 100, profile: 'unit64', memoryMiB: 3072 },
      ...files,
    }),
    () => undefined,
  );
  const read = parseProofStatement(JSON.parse(statement));
  expect(read.segments).toHaveLength(2);
  expect(read.segments[1]).toEqual(read.segments[0]);
  const verified = verifyProofBundle(proof, read);
  expect(verified).toMatchObject({ statement: { stepFrom: 0, stepCount: 100 }, start: 'seed' });
  const ordered = await loadExamples(manifest, files);
  let weights = initialWeights(manifest);
  for (let step = 0; step < manifest.steps; step++) {
    const records = sliceExamples(manifest, ordered, blockOfStep(manifest, step, count) * 4, 4);
    weights = stepReference(manifest, weights, records, step).weights;
  }
  expect(report.stateDigestAfter).toBe(to0x(stateDigest(manifest, weights)));
  expect(planOf(read).shape.steps).toBe(64);
  expect(proofUnitOf(manifest, read)).toMatchObject({ steps: 64, proofs: 2 });
  const codes = [
    { firstStep: 2 },
    { firstStep: 64 },
    { firstStep: 128 },
    { recordCount: 24 },
    { borders: read.borders.toReversed() },
    { profile: 'chain64' },
  ].map((change) => codeOf(() => verifyProofBundle(proof, { ...read, ...change })));
  expect(codes).toEqual([
    'PROOF_ALIGNMENT',
    'STEP_POW',
    'STEP_STATEMENT',
    'STEP_POW',
    'STEP_STATEMENT',
    'MERKLE_INDEX',
  ]);
});
