import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { CodedError, Rejection, concatBytes, fromHex, to0x } from '#attestation/base';
import {
  accuracyPartSeed,
  accuracyText,
  parseAccuracyDocument,
  parseProofBundle,
  verifyAccuracyBundle,
  verifyProofBundle,
  parseProofStatement,
  type AccuracyDocument,
} from '#libs/proof';
import { encodeWeights, initialWeights, profileManifest, stateDigest } from '#libs/step';
import { createEngine, KernelBackend } from '#libs/zk';
import { createCommitter } from '#libs/zk/commit';
import { deriveAccuracyPlan, profileNamed, weightsDigestOf } from '#libs/zk/verifier';
import { writeIdx } from '#test/idx-file';
import { proveAccuracyFiles } from './prove-accuracy-files.js';
import { proveFiles } from './prove-files.js';
import { proveParts, sharesOf } from './prove-parts.js';
import { parseAccuracyRequest, parseProveRequest } from './request.js';

const manifest = profileManifest('fx1', { dims: [6, 5, 3], batch: 4, e: 5, steps: 20, seed: `0x${'5a'.repeat(32)}` });
const folder = mkdtempSync(join(tmpdir(), 'veritrain-accuracy-'));
const count = 24;

function file(name: string, bytes: Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

const pixelAt = (i: number): number => (i * 73 + (i >> 3)) & 255;
const labelAt = (i: number): number => i % 3;
const weights = initialWeights(manifest);
const seedText = '17'.repeat(32);
const good = {
  accuracy: true as const,
  manifest,
  images: writeIdx(join(folder, 'images'), [count, 2, 3], pixelAt),
  labels: writeIdx(join(folder, 'labels'), [count], labelAt),
  weights: file('weights', encodeWeights(weights)),
  weightsSeed: file('seed', Buffer.from(`${seedText}\n`)),
  profile: 'small',
};
const prove = (changes: object = {}) =>
  proveAccuracyFiles(parseAccuracyRequest({ ...good, ...changes }), () => undefined);

async function codeOf(changes: object): Promise<string> {
  try {
    await prove(changes);
  } catch (error) {
    if (error instanceof CodedError) return error.code;
    throw error;
  }
  return 'proved';
}

describe('what the prover of counts refuses', () => {
  it.each<[string, () => object, string]>([
    ['no manifest', () => ({ manifest: 5 }), 'MANIFEST_TYPE'],
    ['a member of the other request', () => ({ from: 0 }), 'PROVE_REQUEST'],
    ['a seed that is none', () => ({ dataSeed: file('bad', Buffer.from('17')) }), 'PROVE_REQUEST'],
    ['weights of another shape', () => ({ weights: file('short', Buffer.from([1, 2, 3])) }), 'WEIGHTS_LENGTH'],
    ['a file that is not there', () => ({ images: join(folder, 'none') }), 'FILE_UNREADABLE'],
    ['another number of labels', () => ({ labels: writeIdx(join(folder, 'few'), [1], labelAt) }), 'RECORDS_COUNT'],
    ['more records than are right', () => ({ correct: count }), 'ACCURACY_COUNT'],
    ['an unknown profile', () => ({ profile: 'none' }), 'STEP_PLAN'],
    ['too little memory', () => ({ memoryMiB: 8 }), 'ZK_MEMORY_EXCEEDED'],
  ])('%s', async (_name, changes, code) => {
    expect(await codeOf(changes())).toBe(code);
  });
});

describe('a count of files', () => {
  let proved: Awaited<ReturnType<typeof prove>>;
  let document: AccuracyDocument;
  const phases: string[] = [];

  beforeAll(async () => {
    proved = await proveAccuracyFiles(parseAccuracyRequest(good), ({ phase }) => void phases.push(phase));
    document = parseAccuracyDocument(JSON.parse(proved.statement));
  });

  it('is verified from its two files, and says what it is of', () => {
    const verified = verifyAccuracyBundle(proved.proof, document);
    const { report } = proved;
    expect(report).toMatchObject({ records: count, parts: 1, openings: { weights: 1 } });
    expect(report.correct).toBeGreaterThan(0);
    expect(verified).toMatchObject({ records: count, correct: report.correct });
    expect(to0x(verified.weights)).toBe(report.weightsDigest);
    expect(to0x(verified.setRoot)).toBe(report.setRoot);
    expect(to0x(verified.statementDigest)).toBe(report.statementDigest);
    expect(report.stateDigest).toBe(to0x(stateDigest(manifest, weights)));
    expect(verified.soundnessBits).toBeGreaterThanOrEqual(100);
    expect(accuracyText(document)).toBe(proved.statement);
    expect([...new Set(phases)]).toEqual([
      'load',
      'commit weights',
      'commit data',
      'execute',
      'commit',
      'prove',
      'verify',
    ]);
  });

  it('is of the weights that others commit to under the same seed', () => {
    const format = deriveAccuracyPlan(manifest, profileNamed('small'), count);
    const commitment = createCommitter(format).weights(weights, fromHex(seedText));
    expect(to0x(weightsDigestOf(commitment, format))).toBe(proved.report.weightsDigest);
  });

  it('may be lower than what is right', async () => {
    const fewer = await prove({ correct: proved.report.correct - 1 });
    expect(fewer.report.correct).toBe(proved.report.correct - 1);
    expect(verifyAccuracyBundle(fewer.proof, parseAccuracyDocument(JSON.parse(fewer.statement))).correct).toBe(
      fewer.report.correct,
    );
  });

  it('is no proof of anything else', () => {
    const [part] = document.parts;
    const zero = new Uint8Array(32);
    const changed: [Partial<AccuracyDocument>, string][] = [
      [{ parts: [{ ...part!, correct: part!.correct + 1 }] }, 'STEP_POW'],
      [{ parts: [{ ...part!, correct: part!.correct - 1 }] }, 'STEP_POW'],
      [{ parts: [{ ...part!, correct: count + 1 }] }, 'STEP_STATEMENT'],
      [{ parts: [{ ...part!, records: count - 1 }] }, 'STEP_POW'],
      [{ parts: [{ ...part!, data: { root: zero, ood: zero } }] }, 'STEP_POW'],
      [{ parts: [part!, part!] }, 'PROOF_SEGMENTS'],
      [{ weights: { root: zero, ood: zero } }, 'STEP_POW'],
      [{ jobId: zero.slice().fill(1) }, 'STEP_POW'],
      [{ profile: 'fast16' }, 'STEP_'],
      [{ manifest: { ...manifest, seed: `0x${'11'.repeat(32)}` } }, 'STEP_POW'],
    ];
    for (const [change, code] of changed) {
      expect(() => verifyAccuracyBundle(proved.proof, { ...document, ...change })).toThrow(code);
    }
  });

  it('is no chain of step proofs, nor is a chain a count', async () => {
    expect(() => parseProofBundle(proved.proof)).toThrow('PROOF_SELECTOR');
    expect(() => parseProofStatement(JSON.parse(proved.statement))).toThrow('PROOF_STATEMENT');
    const { images, labels: classes } = good;
    const chain = await proveFiles(
      parseProveRequest({ manifest, images, labels: classes, from: 0, steps: 1, backend: 'sumcheck' }),
      () => undefined,
    );
    expect(() => verifyAccuracyBundle(chain.proof, document)).toThrow('PROOF_SELECTOR');
    expect(() => parseAccuracyDocument(JSON.parse(chain.statement))).toThrow('PROOF_STATEMENT');
    const renamed = concatBytes(proved.proof.subarray(0, 4), chain.proof.subarray(4));
    expect(() => verifyAccuracyBundle(renamed, document)).toThrow('STEP_');
    const back = concatBytes(chain.proof.subarray(0, 4), proved.proof.subarray(4));
    expect(() => verifyProofBundle(back, parseProofStatement(JSON.parse(chain.statement)))).toThrow('STEP_');
  });

  it.each(['version', 'backend', 'profile', 'weights', 'parts', 'jobId', 'manifest'])(
    'needs %s in its statement, and no other member',
    (member) => {
      const json = JSON.parse(proved.statement) as Record<string, unknown>;
      expect(() => parseAccuracyDocument({ ...json, [member]: null })).toThrow(/^(PROOF_STATEMENT|MANIFEST_TYPE)/);
      expect(() => parseAccuracyDocument({ ...json, more: 1 })).toThrow('PROOF_STATEMENT');
      delete json[member];
      expect(() => parseAccuracyDocument(json)).toThrow('PROOF_STATEMENT');
    },
  );

  it('refuses cut, grown and changed bundles with a code', () => {
    const { proof } = proved;
    for (const bytes of [proof.subarray(0, -1), concatBytes(proof, Uint8Array.of(0)), proof.subarray(0, 3)]) {
      expect(() => verifyAccuracyBundle(bytes, document)).toThrow('PROOF_BUNDLE');
    }
    for (let k = 0; k < 60; k++) {
      const bytes = Uint8Array.from(proof);
      bytes[Math.floor(((k + 0.5) * proof.length) / 60)]! ^= 1 << (k % 8);
      let refusal: unknown;
      try {
        verifyAccuracyBundle(bytes, document);
      } catch (error) {
        refusal = error;
      }
      expect(refusal).toBeInstanceOf(Rejection);
    }
  });
});

describe('a set in three parts', () => {
  const backend = new KernelBackend(createEngine({ rowLogMax: 12 }));
  const [first, second, third] = [8, 12, 4].map((n) => deriveAccuracyPlan(manifest, profileNamed('small'), n));
  const request = {
    ...{ manifest, plans: [first!, second!, third!], weights },
    examples: {
      count,
      features: Uint8Array.from({ length: count * 6 }, (_, i) => pixelAt(i)),
      labels: Uint8Array.from({ length: count }, (_, i) => labelAt(i)),
    },
    ...{ weightsSeed: new Uint8Array(32).fill(1), dataSeed: new Uint8Array(32).fill(2) },
  };
  const { bundle, document } = proveParts(backend, request, () => undefined);
  const proofs = document.parts.length;

  it('counts what its parts count together', () => {
    const verified = verifyAccuracyBundle(bundle, document);
    expect([verified.records, proofs]).toEqual([count, 3]);
    expect(verified.correct).toBe(document.parts.reduce((sum, { correct }) => sum + correct, 0));
    expect(verified.soundnessSumBits).toBeLessThan(first!.soundness.sumBits - 1.5);
  });

  it('does not count a part twice, leave one out, or take them in another order', () => {
    const [a, b, c] = document.parts;
    const verify = (parts: AccuracyDocument['parts']) => () => verifyAccuracyBundle(bundle, { ...document, parts });
    expect(verify([a!, b!])).toThrow('PROOF_SEGMENTS');
    expect(verify([a!, a!, c!])).toThrow('PROOF_STATEMENT');
    expect(verify([b!, a!, c!])).toThrow('STEP_');
  });

  it('shows fewer in every part where fewer are asked for', () => {
    const all = document.parts.map(({ correct }) => correct);
    const asked = all.reduce((sum, one) => sum + one, 0) - 3;
    const fewer = proveParts(backend, { ...request, correct: asked }, () => undefined);
    const shown = fewer.document.parts.map(({ correct }) => correct);
    expect(shown.every((one, k) => one <= all[k]!)).toBe(true);
    expect(verifyAccuracyBundle(fewer.bundle, fewer.document).correct).toBe(asked);
    expect(() => proveParts(backend, { ...request, correct: asked + 4 }, () => undefined)).toThrow('ACCURACY_COUNT');
  });

  it.each([
    [7500, [4000, 4000, 1500], [3072, 3072, 1356]],
    [7500, [4000, 2000, 1500], [4000, 2000, 1500]],
    [10, [4096, 4096, 1808], [5, 4, 1]],
    [0, [4096, 4096, 1808], [0, 0, 0]],
  ])('shows %i of %j right records as %j', (asked, right, shares) => {
    const records = [4096, 4096, 1808];
    expect(
      sharesOf(
        asked,
        right.map((one, k) => ({ right: one, records: records[k]! })),
      ),
    ).toEqual(shares);
  });

  it('commits to other records, or under another profile, under another seed', () => {
    const records = { features: request.examples.features, labels: request.examples.labels };
    const seed = accuracyPartSeed(request.dataSeed, 0, first!, records);
    const others = [
      accuracyPartSeed(request.dataSeed, 1, first!, records),
      accuracyPartSeed(request.dataSeed, 0, second!, records),
      accuracyPartSeed(request.dataSeed, 0, first!, { ...records, labels: records.labels.map((one) => one ^ 1) }),
      accuracyPartSeed(request.weightsSeed, 0, first!, records),
    ];
    expect(new Set([seed, ...others].map(to0x)).size).toBe(5);
  });
});
