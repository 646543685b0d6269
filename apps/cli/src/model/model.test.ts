/** The commands around a model, from a file to predictions. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it, vi } from 'vitest';
import { parseNetManifest } from '#libs/step';
import { savez } from '#test/npz';
import { run } from '../program.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-model-'));
const at = (name: string): string => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => void (process.exitCode = 0));

interface Answer {
  readonly [member: string]: unknown;
  readonly error?: { readonly code: string };
}

async function veritrain(...args: string[]): Promise<Answer> {
  let out = '';
  process.exitCode = 0;
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += String(text);
    return true;
  });
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
  try {
    await run(['node', 'veritrain', ...args, '--json']);
  } finally {
    stdout.mockRestore();
    stderr.mockRestore();
  }
  return JSON.parse(out) as Answer;
}

/** Colour and weight say the kind, length the weight. */
const rows = Array.from({ length: 120 }, (_, i) => {
  const isRed = i % 2 === 0;
  const length = 10 + ((i * 7) % 23) / 10 + (isRed ? 4 : 0);
  return `${isRed ? 'red' : 'blue'},${length.toFixed(2)},${(3 * length + 1).toFixed(2)},${isRed ? 'apple' : 'plum'}`;
});
writeFileSync(at('fruit.csv'), `color,length,weight,kind\n${rows.join('\n')}\n`);
const seed = `0x${'5a'.repeat(32)}`;
const init = (out: string, ...args: string[]): Promise<Answer> =>
  veritrain('model', 'init', '--from', at('fruit.csv'), '--out', at(out), '--seed', seed, ...args);

it('leads from a file to predictions with the names of classes', { timeout: 120_000 }, async () => {
  const plan = await init('plan', '--target', 'kind', '--epochs', '12');
  expect(plan).toMatchObject({ plan: { task: 'classify', epochs: 12, trainRows: 108, validationRows: 12 } });
  const manifest = join(at('plan'), 'manifest.json');
  const data = at('fruit.csv');
  expect(await veritrain('model', 'check', manifest, '--data', data)).toMatchObject({
    ...{ evidence: 'attested only', rows: { train: 108, validation: 12 } },
    reasons: expect.arrayContaining([expect.stringMatching(/^optimizer: adamw has no step proof/)]) as unknown,
  });
  const train = ['train', '--manifest', manifest, '--data', data, '--out', at('model')];
  const kept = [...train, '--checkpoint', at('checkpoint'), '--checkpoint-every', '10'];
  const trained = await veritrain(...train);
  const { digest } = await veritrain(...kept);
  expect(digest).toBe(trained['digest']);
  expect(await veritrain(...kept)).toMatchObject({ digest, resumedFrom: trained['steps'] });
  expect(trained).toMatchObject({
    metrics: { rows: 12, metrics: [{ metric: 'accuracy', numerator: '12', denominator: '12', value: 1 }, {}] },
    where: 'trained on this machine; attested by none',
  });
  const measures = await veritrain('evaluate', '--model', at('model'), '--data', data);
  expect(measures).toMatchObject({
    ...{ rows: 120, metrics: [{ numerator: '120', denominator: '120' }, {}] },
    baseline: { answer: '"apple" alone', metrics: [{ name: 'accuracy', value: 0.5 }], absent: [] },
  });
  expect(trained).toMatchObject({ baseline: { metrics: [{ name: 'accuracy' }], absent: [] } });
  // New data: no label, columns in another order, a value that was never seen.
  writeFileSync(at('new.csv'), 'length,weight,color,smell\n10.5,32.5,blue,x\n15,46,red,y\n15,46,green,z\n');
  const made = await veritrain('predict', '--model', at('model'), '--data', at('new.csv'), '--out', at('out.csv'));
  expect(made).toMatchObject({ rows: 3, ignored: ['smell'], unseen: { color: 1 }, columns: ['kind', 'probability'] });
  expect(made).toMatchObject({ unseenValues: { color: ['green'] } });
  expect(made).toMatchObject({
    counted: 'rows of new.csv from 1, without the line of names and blank lines',
    first: [{ row: 1, kind: 'plum' }, { row: 2, kind: 'apple', probability: expect.any(Number) as number }, { row: 3 }],
  });
  expect(Number(made.floatDifference)).toBeLessThan(0.05);
  expect(Number(made.floatOutput)).toBeGreaterThan(0.05);
  expect(made.floatSameAnswers).toEqual({ same: 3, of: 3 });
  const lines = readFileSync(at('out.csv'), 'utf8').trim().split('\n');
  expect(lines.map((line) => line.split(',')[1])).toEqual(['kind', 'plum', 'apple', expect.any(String)]);
  // What is read is never written over, and what stood there before a refusal stays.
  writeFileSync(at('own.csv'), readFileSync(at('new.csv')));
  for (const out of [at('own.csv'), join(at('model'), 'weights.bin')]) {
    const before = readFileSync(out);
    const over = await veritrain('predict', '--model', at('model'), '--data', at('own.csv'), '--out', out);
    expect([over.error?.code, readFileSync(out).equals(before)]).toEqual(['USAGE', true]);
  }
  writeFileSync(at('ragged.csv'), 'length,weight,color\n1,2,red\n1,2\n');
  const former = readFileSync(at('out.csv'));
  const ragged = await veritrain('predict', '--model', at('model'), '--data', at('ragged.csv'), '--out', at('out.csv'));
  expect([ragged.error?.code, readFileSync(at('out.csv')).equals(former)]).toEqual(['DATA_ROW_WIDTH', true]);
  for (const out of [at('model'), join(at('out.csv'), 'x.csv')]) {
    const none = await veritrain('predict', '--model', at('model'), '--data', at('new.csv'), '--out', out);
    expect(['USAGE', 'FILE_UNWRITABLE']).toContain(none.error?.code);
  }
  expect((await veritrain(...train.slice(0, -1), at('out.csv'))).error?.code).toBe('FILE_UNWRITABLE');
  writeFileSync(at('gaps.csv'), `${readFileSync(data, 'utf8')}red,10,31,\nblue,11,34,\n`);
  const gaps = ['--manifest', manifest, '--data', at('gaps.csv'), '--out', at('gaps')];
  expect(await veritrain('train', ...gaps)).toMatchObject({ rows: { unlabelled: 2 }, notes: [] });
  expect((await veritrain('model', 'check', manifest, '--price-per-hour', 'abc')).error?.code).toBe('USAGE');
  expect(readdirSync(folder).filter((name) => name.includes('partial'))).toEqual([]);
  writeFileSync(at('odd.csv'), 'length,weight,color\n,1e9,red\n');
  const odd = await veritrain('predict', '--model', at('model'), '--data', at('odd.csv'), '--out', at('odd-out.csv'));
  expect(odd).toMatchObject({ rows: 1, unseen: {}, missing: { length: 1 }, clamped: { weight: 1 } });
});

it('reads one split of an archive of arrays and measures on the other', { timeout: 120_000 }, async () => {
  const split = (from: number, count: number) => {
    const classes = Array.from({ length: count }, (_, i) => (from + i) % 3);
    const pixels = classes.flatMap((one, i) => [one * 100, 255 - one * 90, (7 * i) % 20, one === 1 ? 200 : 10]);
    return [
      { type: '|u1', shape: [count, 2, 2], bytes: Uint8Array.from(pixels) },
      { type: '|u1', shape: [count], bytes: Uint8Array.from(classes) },
    ] as const;
  };
  const [[x_train, y_train], [x_test, y_test]] = [split(0, 120), split(1, 30)];
  const data = at('splits.npz');
  writeFileSync(data, savez({ x_train, y_train, x_test, y_test }));
  const init = ['model', 'init', '--from', data, '--out', at('npz-plan'), '--epochs', '6', '--arch', 'mlp'];
  const { error } = await veritrain(...init, '--arrays', 'x=x_train', 'y=y');
  expect(error).toMatchObject({
    expected: 'one of the arrays x_train, y_train, x_test, y_test of splits.npz',
    got: 'y',
  });
  expect((await veritrain(...init)).error).toMatchObject({ code: 'DATA_SHAPE', got: '30' });
  await veritrain(...init, '--target', 'y', '--arrays', 'x=x_train', 'y=y_train');
  const manifest = join(at('npz-plan'), 'manifest.json');
  const trained = await veritrain('train', '--manifest', manifest, '--data', data, '--out', at('npz-model'));
  expect(trained).toMatchObject({ rows: { train: expect.any(Number) as number, validation: 12 } });
  const test = ['--data', data, '--arrays', 'x=x_test', 'y=y_test'];
  const measures = await veritrain('evaluate', '--model', at('npz-model'), ...test);
  expect(measures).toMatchObject({ rows: 30, metrics: [{ numerator: '30', denominator: '30' }, {}] });
});

it('predicts numbers in their own unit', { timeout: 120_000 }, async () => {
  const { error } = await init('steep', '--target', 'weight', '--drop', 'kind', '--lr', '10');
  expect(error).toMatchObject({
    code: expect.stringMatching(/^STEP_RANGE_/) as unknown,
    action: 'choose a lower --lr than 10',
  });
  await init('plan2', '--target', 'weight', '--drop', 'kind', '--epochs', '40', '--validation', '20');
  const data = at('fruit.csv');
  const manifest = join(at('plan2'), 'manifest.json');
  const trained = await veritrain('train', '--manifest', manifest, '--data', data, '--out', at('model2'));
  const [rmse] = (trained.metrics as { metrics: { name: string; value: number }[] }).metrics;
  expect(rmse!.name).toBe('rmse');
  // The weights lie between 31 and 50.
  expect(rmse!.value).toBeLessThan(2);
  await veritrain('predict', '--model', at('model2'), '--data', data, '--out', at('weights.csv'));
  const { metrics } = await veritrain('evaluate', '--model', at('model2'), '--data', data);
  const [sse, sae] = metrics as { numerator: string; denominator: string; scale: number; mean: number }[];
  for (const { numerator, denominator, scale, mean } of [sse!, sae!]) {
    expect((Number(numerator) / Number(denominator)) * scale).toBeCloseTo(mean, 9);
  }
  const predicted = readFileSync(at('weights.csv'), 'utf8').trim().split('\n').slice(1);
  const errors = predicted.map((line, i) => Math.abs(Number(line.split(',')[1]) - Number(rows[i]!.split(',')[2])));
  const meanOf = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;
  expect(sae!.mean).toBeCloseTo(meanOf(errors), 2);
  expect(sse!.mean).toBeCloseTo(meanOf(errors.map((one) => one ** 2)), 2);
  const [, first] = readFileSync(at('weights.csv'), 'utf8').split('\n');
  expect(Math.abs(Number(first!.split(',')[1]) - 43)).toBeLessThan(4);
});

it('says with a code what it cannot do', async () => {
  expect(await init('no', '--target', 'colour')).toMatchObject({ error: { code: 'DATA_COLUMN_MISSING' } });
  expect(await init('no', '--target', 'kind', '--arch', 'cnn')).toMatchObject({ error: { code: 'PLAN_ARCHITECTURE' } });
  expect(await init('no', '--target', 'kind', '--lr', 'fast')).toMatchObject({ error: { code: 'USAGE' } });
  // Wishes are looked at before a file is.
  const unread = ['model', 'init', '--from', at('none.csv'), '--out', at('no')];
  for (const wish of [
    ['--seed', '0x12'],
    ['--epochs', '0'],
    ['--patience', '0'],
  ]) {
    expect(await veritrain(...unread, ...wish)).toMatchObject({ error: { code: 'USAGE', got: wish[1] } });
  }
  expect(await veritrain('evaluate', '--model', at('nowhere'), '--data', at('fruit.csv'))).toMatchObject({
    error: { code: 'FILE_UNREADABLE' },
  });
});

it('leaves only layers in the way of a proof where sgd-exact is asked for', async () => {
  const made = await init('exact', '--target', 'kind', '--optimizer', 'sgd-exact');
  expect(made).toMatchObject({ plan: { optimizer: 'sgd-exact' } });
  const { reasons } = await veritrain('model', 'check', join(at('exact'), 'manifest.json'));
  expect((reasons as readonly string[]).filter((reason) => !/^n\d+: /.test(reason))).toEqual([]);
});

it('ends early as the rule says, and has the best model', { timeout: 120_000 }, async () => {
  await init('patient', '--target', 'kind', '--patience', '1', '--lr', '0.2', '--epochs', '40');
  const train = ['train', '--manifest', join(at('patient'), 'manifest.json'), '--data', at('fruit.csv'), '--out'];
  const report = await veritrain(...train, at('patient-model'));
  const { steps, bestStep } = report as { steps: number; bestStep: number };
  expect(bestStep).toBeLessThan(steps);
  expect(steps).toBeLessThan(parseNetManifest(JSON.parse(readFileSync(train[2]!, 'utf8'))).steps);
  const kept = await veritrain(...train, at('no'), '--checkpoint', at('patient-state'));
  expect(kept).toMatchObject({ error: { code: 'USAGE', got: 'stop' } });
  const whole = await veritrain(...train, at('no'), '--validation', '0');
  expect(whole).toMatchObject({
    error: { code: 'USAGE', expected: expect.stringContaining('--validation') as unknown },
  });
});

it('says that a training went past its best', { timeout: 120_000 }, async () => {
  // Labels that nothing says: what is learned of them holds of no other row.
  const noise = (i: number): number => ((i * 2654435761) % 2 ** 32) / 2 ** 32;
  const line = (i: number): string =>
    `${[1, 2, 3, 4].map((k) => noise(31 * i + k).toFixed(3)).join()},${'ab'[Math.round(noise(7 * i + 5))]}`;
  writeFileSync(at('noise.csv'), `p,q,r,s,label\n${Array.from({ length: 120 }, (_, i) => line(i)).join('\n')}\n`);
  const asked = ['--from', at('noise.csv'), '--out', at('noise'), '--seed', seed, '--epochs', '60', '--lr', '0.02'];
  await veritrain('model', 'init', ...asked);
  const train = ['train', '--manifest', join(at('noise'), 'manifest.json'), '--data', at('noise.csv')];
  const { overfit } = await veritrain(...train, '--out', at('noise-model'));
  expect(overfit).toMatchObject({ name: 'loss' });
  const { best, last } = overfit as Record<'best' | 'last', { step: number; value: number }>;
  expect(last.value).toBeGreaterThan(1.1 * best.value);
  await veritrain('model', 'init', ...asked, '--patience', '3');
  expect(await veritrain(...train, '--out', at('best-model'))).toMatchObject({
    overfit: null,
    bestStep: expect.any(Number) as number,
  });
});
