/** Checkpoints of the engine alone: a run goes on from one as if nothing had been, and takes no other. */
import { expect, it } from 'vitest';
import { concatBytes } from '#attestation/base';
import { parseNetManifest } from '#libs/step';
import { parseEngineRequest, runEngine, type EngineReport } from './engine-run.js';

const manifest = {
  ...{ fxt: 2, seed: `0x${'3c'.repeat(32)}`, batch: 4, steps: 6, input: { shape: [5], frac: 8 }, a: 8, g: 12, wint: 3 },
  ...{ layers: [{ op: 'dense', out: 3 }], loss: { kind: 'softmax-ce', E: 12, k: 28 } },
  optimizer: { kind: 'adamw', beta1: [13, 7], beta2: [1, 10], lr: { frac: 24, points: [[0, 16_777]] } },
};
const records = Uint8Array.from({ length: 8 * 6 }, (_, i) => (i % 6 === 5 ? (i * 5) % 3 : (i * 97) & 255));

/** @param failAt checkpoints that can be written before the disk is full */
async function train(files: Map<string, Uint8Array>, { failAt = Infinity, of = manifest, steps = 6 } = {}) {
  const checkpoint = { path: 'checkpoint', everySteps: 2 };
  const request = parseEngineRequest({ manifest: of, records: 'records', digestAt: [steps], checkpoint });
  let written = 0;
  return runEngine(
    request,
    {
      read: (path) => Promise.resolve(path === 'records' ? (files.get('records') ?? records) : files.get(path)!),
      find: (path) => Promise.resolve(files.get(path) ?? null),
      write(path, parts) {
        if (++written > failAt) return Promise.reject(new Error('the disk is full'));
        files.set(path, concatBytes(...parts));
        return Promise.resolve();
      },
    },
    () => performance.now(),
    { onProgress: () => undefined, onEvaluation: () => undefined },
  );
}

it('goes on where it was, to the same state', async () => {
  const whole: EngineReport = await train(new Map());
  expect(whole.resumedFrom).toBe(0);
  const files = new Map<string, Uint8Array>();
  await expect(train(files, { failAt: 1 })).rejects.toThrow('the disk is full');
  expect(await train(files)).toMatchObject({ digests: whole.digests, resumedFrom: 2 });
  expect(await train(files)).toMatchObject({ digests: whole.digests, resumedFrom: 6, samplesPerSecond: 0 });
  await expect(train(files, { steps: 4 })).rejects.toThrow('ENGINE_REQUEST');
});

it('refuses a checkpoint of another run, and one that is not whole', async () => {
  const files = new Map<string, Uint8Array>();
  await train(files);
  const good = files.get('checkpoint')!;
  const table = new TextEncoder().encode('rooms,price\n3,100\n'.repeat(20));
  await expect(train(new Map([['checkpoint', table]]))).rejects.toMatchObject({
    detail: { action: expect.stringMatching(/^name a file that does not exist yet/) as unknown },
  });
  const other = { ...manifest, batch: 2 };
  await expect(train(new Map([['checkpoint', good]]), { of: other })).rejects.toThrow('CHECKPOINT_RUN');
  const changed = records.map((value, i) => (i === 0 ? value ^ 1 : value));
  const withOthers = new Map([['checkpoint', good] as const, ['records', changed] as const]);
  await expect(train(withOthers)).rejects.toThrow('CHECKPOINT_RUN');
  const state = good.length - 8 * parameters;
  const forged: readonly (readonly [string, Uint8Array])[] = [
    ['CHECKPOINT_FILE', new Uint8Array()],
    ['CHECKPOINT_FILE', good.subarray(1)],
    ['CHECKPOINT_FILE', good.subarray(0, state - 1)],
    ['CHECKPOINT_FILE', good.subarray(0, -1)],
    ['CHECKPOINT_FILE', concatBytes(good, Uint8Array.of(0))],
    ['CHECKPOINT_FILE', good.with(state, good[state]! ^ 1)],
    ['CHECKPOINT_FILE', good.with(state - 33, 7)],
    ['CHECKPOINT_FILE', good.with(state - 33, 5)],
  ];
  for (const [code, bytes] of forged) {
    await expect(train(new Map([['checkpoint', bytes]])), code).rejects.toThrow(code);
  }
  await expect(train(new Map([['checkpoint', good.subarray(0, -1)]]))).rejects.toMatchObject({
    detail: {
      expected: expect.stringMatching(/ in checkpoint$/) as unknown,
      action: 'delete the file, which is damaged, and train from the start',
    },
  });
});

/** W, b, and two moments of each. */
const parameters = 3 * (5 * 3 + 3);

it('takes its request strictly', () => {
  expect(parseNetManifest(manifest).steps).toBe(6);
  const request = { manifest, records: 'records', digestAt: [6] };
  for (const checkpoint of [{ path: 'a' }, { path: 'a', everySteps: 0 }, { path: 1, everySteps: 1 }, 'a', null]) {
    expect(() => parseEngineRequest({ ...request, checkpoint })).toThrow('ENGINE_REQUEST');
  }
});
