import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { concatBytes, toHex, uintBe } from '#attestation/base';
import { InferenceSession, Tensor } from '#libs/onnx';
import { nodeCommand } from '#libs/process';
import {
  blockOfStep,
  floatOnnx,
  initialWeights,
  orderExamples,
  parseIdxImages,
  parseManifest,
  profileManifest,
  shuffledIndices,
  stateDigest,
  stepReference,
} from '#libs/step';
import { parseEngineRequest } from './engine-run.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-engine-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

const count = 24;
const pixels = Uint8Array.from({ length: count * 6 }, (_, i) => (i * 97 + (i >> 3) * 31) & 255);
const labels = Uint8Array.from({ length: count }, (_, i) => (i * 5) % 3);
const imagesFile = concatBytes(uintBe(0x803, 4), uintBe(count, 4), uintBe(2, 4), uintBe(3, 4), pixels);
const images = join(folder, 'images');
const labelsPath = join(folder, 'labels');
writeFileSync(images, imagesFile);
writeFileSync(labelsPath, concatBytes(uintBe(0x801, 4), uintBe(count, 4), labels));

const manifest = {
  fxt: 1,
  dims: [6, 5, 3],
  batch: 4,
  a: [8, 6, 6],
  abits: 12,
  ybits: 16,
  gbits: 16,
  g: [10, 10],
  e: [5, 5],
  wint: 2,
  loss: { kind: 'softmax-ce', E: 10, k: 26 },
  optimizer: { kind: 'sgd', m: [[0, 1]] },
  steps: 12,
  order: 'affine',
  seed: `0x${'5a'.repeat(32)}`,
};
const netRequest = {
  manifest: {
    ...{ fxt: 2, seed: manifest.seed, batch: 4, steps: 2, input: { shape: [5], frac: 8 }, a: 8, g: 12, wint: 3 },
    ...{ layers: [{ op: 'dense', out: 3 }], loss: { kind: 'softmax-ce', E: 12, k: 28 } },
    optimizer: { kind: 'sgd', lr: { frac: 24, points: [[0, 16_777]] } },
  },
  ...{ records: join(folder, 'records'), digestAt: [2] },
};
writeFileSync(netRequest.records, new Uint8Array(8 * 6));
const request = { manifest, images, labels: labelsPath, digestAt: [0, 3, 12] };

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function engineProcess(stdin: string): Promise<Ended> {
  const [file, ...args] = nodeCommand('./engine-main', import.meta.url);
  const child = spawn(file, args);
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (data) => (stdout += String(data)));
  child.stderr.on('data', (data) => (stderr += String(data)));
  child.stdin.on('error', () => {});
  child.stdin.end(stdin);
  const status = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { status, stdout, stderr };
}

function expectedDigests(): Record<string, string> {
  const m = parseManifest(manifest);
  const all = orderExamples(m, parseIdxImages(imagesFile), labels, shuffledIndices(m.seed, count));
  let weights = initialWeights(m);
  const digests: Record<string, string> = { 0: toHex(stateDigest(m, weights)) };
  for (let step = 0; step < 12; step++) {
    const first = 4 * blockOfStep(m, step, count);
    const features = all.features.slice(6 * first, 6 * (first + 4));
    weights = stepReference(
      m,
      weights,
      { count: 4, features, labels: all.labels.slice(first, first + 4) },
      step,
    ).weights;
    if (step === 2 || step === 11) digests[step + 1] = toHex(stateDigest(m, weights));
  }
  return digests;
}

describe('engine process', () => {
  it('answers a request with the digests of the reference', async () => {
    const { status, stdout, stderr } = await engineProcess(JSON.stringify(request));
    expect(status).toBe(0);
    const report = JSON.parse(stdout);
    expect(report.digests).toEqual(expectedDigests());
    expect(report.samplesPerSecond).toBeGreaterThan(0);
    const lines = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.at(-1)).toMatchObject({ step: 12 });
  });

  it.each<[string, string]>([
    ['ENGINE_REQUEST', '{"manifest":'],
    ['ENGINE_REQUEST', ' '.repeat(200_000)],
    ['IDX_FILE_UNREADABLE', JSON.stringify({ ...request, labels: join(folder, 'none') })],
    ['IDX_MAGIC', JSON.stringify({ ...request, labels: images })],
    ['STEP_OUT_OF_JOB', JSON.stringify({ ...request, digestAt: [13] })],
  ])('ends with %s on stdout and status 1', async (code, stdin) => {
    const { status, stdout } = await engineProcess(stdin);
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code } });
  });

  it('refuses a digest beyond the last step before it trains, with what to ask for', async () => {
    const { stdout, stderr } = await engineProcess(JSON.stringify({ ...request, digestAt: [0, 3, 99_999] }));
    expect(JSON.parse(stdout)).toMatchObject({
      error: { code: 'STEP_OUT_OF_JOB', action: 'ask for steps up to 12, the last of the manifest' },
    });
    expect(stderr).not.toContain('"step"');
  });

  it.skipIf(!existsSync('/dev/full'))(
    'names a file for which there is no space, and leaves nothing of it',
    async () => {
      const path = join(folder, 'full');
      symlinkSync('/dev/full', `${path}.partial`);
      const { status, stdout } = await engineProcess(JSON.stringify({ ...netRequest, out: path }));
      expect(status).toBe(1);
      const detail = {
        code: 'FILE_UNWRITABLE',
        expected: expect.stringContaining(path),
        got: 'no space left (ENOSPC)',
      };
      expect(JSON.parse(stdout)).toMatchObject({ error: detail });
      expect(readdirSync(folder).filter((name) => name.startsWith('full'))).toEqual([]);
    },
  );

  it.each<[string, unknown]>([
    ['no object', 7],
    ['an unknown member', { ...request, extra: 1 }],
    ['no paths', { ...request, images: 1 }],
    ['no digests', { ...request, digestAt: [] }],
    ['a negative step', { ...request, digestAt: [-1] }],
    ['no threads', { ...request, threads: 0 }],
    ['an unknown level', { ...request, optimization: 'most' }],
    ['an unknown carrier', { ...request, carrier: 'float32' }],
  ])('refuses a request with %s', (_, json) => {
    expect(() => parseEngineRequest(json)).toThrow(expect.objectContaining({ code: 'ENGINE_REQUEST' }));
  });
});

describe('float export, libs/step/SPEC.md §18', () => {
  it('gives the logits of the exact net to within its rounding', async () => {
    const m = profileManifest('fx1w', { dims: [6, 5, 3], batch: 24, e: 5, steps: 1, seed: manifest.seed });
    const weights = initialWeights(m);
    const exact = stepReference(m, weights, { count, features: pixels, labels }, 0).layers.at(-1)!.Y;
    const session = await InferenceSession.create(floatOnnx(m, weights));
    const result = await session.run({ image: new Tensor('uint8', pixels, [count, 6]) });
    await session.release();
    expect(result.logits!.dims).toEqual([count, 3]);
    const logits = result.logits!.data as Float32Array;
    const largestGap = Math.max(...exact.data.map((y, i) => Math.abs(Number(y) / 256 - logits[i]!)));
    expect(largestGap).toBeGreaterThan(0);
    expect(largestGap).toBeLessThan(12 / 256);
  });
});
