/** A model of PyTorch or Keras from its file to training, predictions and a file again. */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { importOnnx } from '#libs/models';
import { InferenceSession, Tensor } from '#libs/onnx';
import { fixturePath } from '#test/fixture';
import { writeIdx } from '#test/idx-file';
import { handMade } from '#test/onnx-files';
import { runCommand } from '#test/run-command';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-bring-'));
const at = (...names: string[]): string => join(folder, ...names);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const exported = (name: string): string => join(fixturePath('onnx'), name);
const seed = ['--seed', `0x${'5a'.repeat(32)}`];
const timeout = { timeout: 120_000 };

async function veritrain(...args: string[]): Promise<Record<string, unknown>> {
  return (await runCommand(...args)).json;
}

/** Pictures with a light bar in the row of their class. */
function writeBars(name: string, rows: number, side: number, classes: number): readonly string[] {
  const barAt = (record: number): number => Math.floor(((record % classes) * side) / classes);
  const pixel = (i: number): number => {
    const [record, row] = [Math.floor(i / side / side), Math.floor(i / side) % side];
    return (row === barAt(record) ? 180 : 20) + ((i * 37) % 50);
  };
  writeIdx(at(`${name}-x.idx`), [rows, side, side], pixel);
  writeIdx(at(`${name}-y.idx`), [rows], (i) => i % classes);
  return [at(`${name}-x.idx`), '--labels', at(`${name}-y.idx`)];
}

const large = writeBars('large', 200, 16, 10);
const small = writeBars('small', 90, 6, 3);
const valueOf = (measures: unknown, name: string): number =>
  (measures as { metrics: { name: string; value: number }[] }).metrics.find((one) => one.name === name)!.value;

it('goes on training a convolution net of PyTorch, batch norm folded, and gives it back', timeout, async () => {
  const imported = await veritrain(
    ...['model', 'import', exported('torch-cnn-ts17.onnx'), '--from', ...large, '--out', at('cnn'), ...seed],
    ...['--epochs', '40', '--batch', '20', '--lr', '0.003'],
  );
  expect(imported).toMatchObject({
    layers: [
      'n0 conv2d',
      'n1 relu',
      'n2 maxpool',
      'n3 conv2d',
      'n4 relu',
      'n5 flatten',
      'n6 dense',
      'n7 relu',
      'n8 dense',
    ],
    check: { set: 'validation', records: 20, sameAnswers: { same: 20, of: 20 } },
    plan: { task: 'classify', steps: 360 },
  });
  const { largestDifference, largestOutput } = imported.check as { largestDifference: number; largestOutput: number };
  expect(largestDifference).toBeLessThan(0.02 * (1 + largestOutput));
  const manifest = at('cnn', 'manifest.json');
  expect(JSON.parse(readFileSync(manifest, 'utf8'))).toMatchObject({ start: { kind: 'weights', root: imported.root } });
  const trained = await veritrain('train', '--manifest', manifest, '--data', ...large, '--out', at('cnn-model'));
  expect(valueOf(trained.metrics, 'loss')).toBeLessThan(valueOf(imported.before, 'loss') - 0.3);
  await veritrain('predict', '--model', at('cnn-model'), '--data', ...large, '--out', at('cnn.csv'));
  const back = await veritrain(
    'model',
    'export',
    '--model',
    at('cnn-model'),
    '--data',
    ...large,
    '--out',
    at('cnn-out'),
  );
  expect(back.check).toMatchObject({ records: 200, sameAnswers: { of: 200 } });
  expect(
    await predictedBy(at('cnn-out', 'model.onnx'), readFileSync(large[0]!).subarray(16), [200, 16, 16, 1]),
  ).toEqual(
    readFileSync(at('cnn.csv'), 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => Number(line.split(',')[1])),
  );
  const again = ['model', 'import', at('cnn-out', 'model.onnx'), '--from', ...large, '--out', at('cnn-again'), ...seed];
  const { before, warnings } = await veritrain(...again);
  expect(valueOf(before, 'loss')).toBeCloseTo(valueOf(trained.metrics, 'loss'), 2);
  expect(warnings).toEqual([]);
});

/** Classes of an ONNX model's outputs, by onnxruntime alone. */
async function predictedBy(path: string, bytes: Uint8Array, dims: readonly number[]): Promise<readonly number[]> {
  const session = await InferenceSession.create(new Uint8Array(readFileSync(path)));
  const { output } = await session.run({ features: new Tensor('uint8', Uint8Array.from(bytes), dims) });
  await session.release();
  const values = Array.from(output!.data as Float32Array);
  const classes = values.length / dims[0]!;
  return Array.from({ length: dims[0]! }, (_, row) => {
    const own = values.slice(row * classes, (row + 1) * classes);
    return own.indexOf(Math.max(...own));
  });
}

describe('a new head', () => {
  const bars = writeBars('few', 90, 16, 3);
  const from = ['model', 'import', exported('torch-cnn-ts17.onnx'), '--from', ...bars, ...seed, '--classes', '3'];
  const start = (name: string): Buffer => readFileSync(at(name, 'start.bin'));
  /** W [8, 3] and b [3] of the last layer, 8 bytes each. */
  const headBytes = 8 * (8 * 3 + 3);

  it('replaces the last layer of an ONNX model, and all other weights stay', timeout, async () => {
    const imported = await veritrain(...from, '--out', at('head'), '--epochs', '40', '--batch', '10', '--lr', '0.003');
    expect(imported).toMatchObject({
      head: { layer: 'n8', outputs: 3, before: 10 },
      why: expect.arrayContaining([
        expect.stringMatching(/^The last layer, n8, is new: 3 outputs in place of 10/),
      ]) as unknown,
      check: { against: 'the same weights as an ONNX model' },
    });
    const old = ['model', 'import', exported('torch-cnn-ts17.onnx'), '--from', ...large, ...seed, '--out', at('whole')];
    expect(await veritrain(...old)).toMatchObject({ head: null });
    const kept = start('head').length - headBytes;
    expect(start('head').subarray(0, kept)).toEqual(start('whole').subarray(0, kept));
    const data = ['--data', ...bars, '--out', at('head-model')];
    const trained = await veritrain('train', '--manifest', at('head', 'manifest.json'), ...data);
    expect(valueOf(trained.metrics, 'loss')).toBeLessThan(valueOf(imported.before, 'loss') * 0.8);
  });

  it('is drawn from the seed, biases 0, and is trained whatever stays as it is', timeout, async () => {
    await veritrain(...from.map((word) => word.replace('5a5a', '5b5a')), '--out', at('other-seed'));
    const [own, other] = [start('head'), start('other-seed')];
    expect(other.subarray(0, -headBytes)).toEqual(own.subarray(0, -headBytes));
    expect(other.subarray(-headBytes)).not.toEqual(own.subarray(-headBytes));
    expect(own.subarray(-8 * 3).every((byte) => byte === 0)).toBe(true);
    const frozen = await veritrain(...from, '--out', at('head-only'), '--freeze', 'but-last');
    expect(frozen).toMatchObject({ trainedParameters: headBytes / 8 });
    await veritrain(...from, '--out', at('head-lora'), '--lora', '2');
    const { layers } = JSON.parse(readFileSync(at('head-lora', 'manifest.json'), 'utf8')) as { layers: object[] };
    expect(layers.at(-1)).toMatchObject({ id: 'n8', op: 'dense', out: 3, frozen: false });
    expect(layers).toContainEqual(expect.objectContaining({ id: 'n6.A' }));
  });
});

describe('what the file takes', () => {
  const from = ['model', 'import', exported('keras-mlp-13.onnx'), '--from', ...small, ...seed];

  it('may be the numbers as they are: Keras scaled pixels within the model', timeout, async () => {
    const raw = await veritrain(...from, '--out', at('raw'), '--inputs', 'raw');
    const scaled = await veritrain(...from, '--out', at('scaled'));
    expect(raw).toMatchObject({ check: { records: 9, sameAnswers: { same: 9, of: 9 } } });
    expect((raw.check as { largestDifference: number }).largestDifference).toBeLessThan(0.02);
    expect(raw.root).not.toBe(scaled.root);
    expect(raw.notes).toContainEqual(expect.stringContaining('Softmax'));
  });

  it('must be what the data has', timeout, async () => {
    const other = ['model', 'import', exported('torch-cnn-ts17.onnx'), '--from', ...small, '--out', at('no')];
    expect(await veritrain(...other)).toMatchObject({ error: { code: 'MODEL_INPUT' } });
    const classes = ['model', 'import', exported('torch-cnn-ts17.onnx'), '--from', ...writeBars('few', 40, 16, 3)];
    expect(await veritrain(...classes, '--out', at('no'))).toMatchObject({
      error: { code: 'HEADER_FIT', action: '--classes 3 gives the model a new last layer' },
    });
  });
});

it('puts adapters on a language model and leaves the rest as it was', timeout, async () => {
  writeFileSync(at('text.txt'), 'abcdefghij'.repeat(60));
  const language = ['--from', at('text.txt'), '--task', 'language', '--tokens', '6', ...seed];
  const imported = await veritrain(
    ...['model', 'import', exported('torch-gpt-fused-ts17.onnx'), ...language, '--out', at('lora')],
    ...['--lora', '2', '--epochs', '6', '--lr', '0.01'],
  );
  expect(imported).toMatchObject({
    check: { records: 10 },
    parameters: 1_456,
    trainedParameters: 328,
  });
  expect((imported.check as { largestDifference: number }).largestDifference).toBeLessThan(0.02);
  const data = ['--data', at('text.txt')];
  const trained = await veritrain(
    'train',
    '--manifest',
    at('lora', 'manifest.json'),
    ...data,
    '--out',
    at('lora-model'),
  );
  expect(valueOf(trained.metrics, 'perplexity')).toBeLessThan(valueOf(imported.before, 'perplexity') * 0.98);
  const merged = ['model', 'export', '--model', at('lora-model'), '--out', at('merged'), ...data, '--merge-lora'];
  expect(await veritrain(...merged)).toMatchObject({ check: { records: 99 } });
  const { layers } = importOnnx(new Uint8Array(readFileSync(at('merged', 'model.onnx'))));
  const given = importOnnx(new Uint8Array(readFileSync(exported('torch-gpt-fused-ts17.onnx'))));
  expect(layers.map(({ op }) => op)).toEqual(given.layers.map(({ op }) => op));
});

describe('weights alone', () => {
  const table = Array.from(
    { length: 60 },
    (_, i) => `${i % 7},${(i * 3) % 11},${i % 5},${(i * 7) % 13},${i % 2 ? 'x' : 'y'}`,
  );
  writeFileSync(at('table.csv'), `a,b,c,d,kind\n${table.join('\n')}\n`);
  writeFileSync(at('layers.json'), JSON.stringify([{ op: 'dense', out: 3 }, { op: 'relu' }, { op: 'dense', out: 2 }]));
  const map = { '0.weight': 'n0.W^T', '0.bias': 'n0.b', '2.weight': 'n2.W^T', '2.bias': 'n2.b' };
  writeFileSync(at('map.json'), JSON.stringify({ map }));
  const data = ['--from', at('table.csv'), '--target', 'kind', ...seed];
  const tensors = ['model', 'import', exported('torch-small.safetensors'), ...data, '--layers', at('layers.json')];

  it('are put into named layers, and come back as exact integers', timeout, async () => {
    const first = await veritrain(...tensors, '--map', at('map.json'), '--out', at('one'));
    expect(first).toMatchObject({
      layers: ['n0 dense', 'n1 relu', 'n2 dense'],
      check: { sameAnswers: { same: 6, of: 6 } },
    });
    const manifest = at('one', 'manifest.json');
    await veritrain('train', '--manifest', manifest, '--data', at('table.csv'), '--out', at('one-model'));
    const exportArgs = [
      'model',
      'export',
      '--model',
      at('one-model'),
      '--data',
      at('table.csv'),
      '--out',
      at('one-out'),
    ];
    expect(await veritrain(...exportArgs)).toMatchObject({ check: { records: 60, sameAnswers: { same: 60, of: 60 } } });
    const again = [
      'model',
      'import',
      at('one-out', 'model.safetensors'),
      ...data,
      '--layers',
      at('one-model', 'manifest.json'),
    ];
    expect(await veritrain(...again, '--out', at('two'), '--freeze', 'but-last')).toMatchObject({
      trainedParameters: 8,
    });
    expect(readFileSync(at('two', 'start.bin'))).toEqual(readFileSync(at('one-model', 'weights.bin')));
    // The table's ONNX model takes the user's own numbers.
    const numbers = ['model', 'import', at('one-out', 'model.onnx'), ...data, '--out', at('three')];
    expect(await veritrain(...numbers, '--inputs', 'raw', '--optimizer', 'sgd-exact')).toMatchObject({
      check: { sameAnswers: { same: 6, of: 6 } },
    });
  });

  it('may have a new head, whatever theirs was', timeout, async () => {
    const kinds = table.map((row, i) => row.replace(/[xy]$/, 'xyz'[(i % 7) % 3]!));
    writeFileSync(at('kinds.csv'), `a,b,c,d,kind\n${kinds.join('\n')}\n`);
    const own = ['--from', at('kinds.csv'), '--target', 'kind', ...seed, '--map', at('map.json')];
    const head = ['model', 'import', exported('torch-small.safetensors'), ...own, '--layers', at('layers.json')];
    expect(await veritrain(...head, '--out', at('no'))).toMatchObject({ error: { code: 'HEADER_FIT' } });
    const imported = await veritrain(...head, '--classes', '3', '--out', at('kinds'), '--epochs', '3');
    expect(imported).toMatchObject({ head: { layer: 'n2', outputs: 3, before: 2 } });
    const kept = 8 * (4 * 3 + 3);
    const weightsOf = (name: string): Buffer => readFileSync(at(name, 'start.bin')).subarray(0, kept);
    expect(weightsOf('kinds')).toEqual(weightsOf('one'));
    const manifest = ['--manifest', at('kinds', 'manifest.json'), '--data', at('kinds.csv')];
    expect(await veritrain('train', ...manifest, '--out', at('kinds-model'))).toMatchObject({
      steps: (imported.plan as { steps: number }).steps,
    });
    expect(await veritrain(...head, '--classes', '3', '--freeze', 'n2', '--out', at('no'))).toMatchObject({
      error: { code: 'MODEL_LAYER', got: 'n2' },
    });
  });

  it('are refused with a code where they do not fit', timeout, async () => {
    expect(await veritrain(...tensors, '--out', at('no'))).toMatchObject({ error: { code: 'SAFETENSORS_MISSING' } });
    const frozen = [...tensors, '--map', at('map.json'), '--out', at('no'), '--freeze', 'n1'];
    expect(await veritrain(...frozen)).toMatchObject({ error: { code: 'MODEL_LAYER', got: 'n1' } });
    expect(await veritrain(...frozen, '--lora', '2')).toMatchObject({ error: { code: 'USAGE' } });
  });

  it('that the manifest does not name are not trained on', timeout, async () => {
    await veritrain(...tensors, '--map', at('map.json'), '--out', at('four'));
    const train = ['train', '--manifest', at('four', 'manifest.json'), '--data', at('table.csv'), '--out', at('no')];
    const bytes = readFileSync(at('four', 'start.bin'));
    bytes[0]! ^= 1;
    writeFileSync(at('four', 'start.bin'), bytes);
    expect(await veritrain(...train)).toMatchObject({ error: { code: 'START_ROOT' } });
    writeFileSync(at('four', 'start.bin'), bytes.subarray(8));
    expect(await veritrain(...train)).toMatchObject({ error: { code: 'START_LENGTH' } });
    rmSync(at('four', 'start.bin'));
    expect(await veritrain(...train)).toMatchObject({ error: { code: 'FILE_UNREADABLE' } });
  });
});

it('names a node without a layer with its op, and what to use instead', async () => {
  const bytes = handMade(['n', 16, 16, 1], (graph, x) => graph.node('LeakyRelu', [x]));
  writeFileSync(at('leaky.onnx'), bytes);
  const answer = await veritrain('model', 'import', at('leaky.onnx'), '--from', ...large, '--out', at('no'));
  expect(answer).toMatchObject({
    error: {
      code: 'ONNX_OP_UNSUPPORTED',
      nodes: [{ op: 'LeakyRelu', instead: expect.stringContaining('Relu') as unknown }],
    },
  });
  copyFileSync(at('leaky.onnx'), at('leaky.pt'));
  const pickled = await veritrain('model', 'import', at('leaky.pt'), '--from', ...large, '--out', at('no'));
  expect(pickled).toMatchObject({ error: { code: 'USAGE' } });
});

describe('what to do is said', () => {
  const kinds = Array.from({ length: 60 }, (_, i) => `${i % 7},${(i * 3) % 11},${i % 5},${i % 2 ? 'yes' : 'no'}`);
  writeFileSync(at('flags.csv'), `a,b,c,kind\n${kinds.join('\n')}\n`);
  const flags = ['--from', at('flags.csv'), '--target', 'kind', ...seed, '--out', at('flags')];
  writeFileSync(
    at('flag.onnx'),
    handMade(['n', 3], (graph, x) =>
      graph.node('Sigmoid', [graph.node('MatMul', [x, graph.float32([3, 1], Float32Array.of(0.5, -0.25, 1))])]),
    ),
  );

  it('where one output answers for two classes', timeout, async () => {
    const from = ['model', 'import', at('flag.onnx'), ...flags];
    expect(await veritrain(...from)).toMatchObject({
      error: { code: 'HEADER_FIT', action: expect.stringMatching(/^say --task multilabel.*or --classes 2/) as unknown },
    });
    expect(await veritrain(...from, '--task', 'multilabel')).toMatchObject({
      check: { records: 6, sameAnswers: { same: 6, of: 6 } },
      notes: expect.arrayContaining([expect.stringContaining('the loss sigmoid-bce has it')]) as unknown,
    });
  });

  it('of axes that are free, and of those that are not there', timeout, async () => {
    writeFileSync(
      at('free.onnx'),
      handMade(['n', 'length'], (graph, x) => graph.node('Relu', [x])),
    );
    expect(await veritrain('model', 'import', at('free.onnx'), ...flags)).toMatchObject({
      error: { code: 'ONNX_INPUT', action: 'say --axis length=SIZE, or export it with a fixed size' },
    });
    expect(await veritrain('model', 'import', at('free.onnx'), ...flags, '--axis', 'width=3')).toMatchObject({
      error: { code: 'ONNX_INPUT', expected: 'free axes of "x": length', got: 'a size for "width"' },
    });
  });

  it('where a folder is named in place of a file', async () => {
    mkdirSync(at('planned'));
    expect(await veritrain('model', 'check', at('planned'))).toMatchObject({
      error: { code: 'FILE_UNREADABLE', got: 'a folder (EISDIR)', action: 'name a file in it' },
    });
    writeFileSync(at('planned', 'manifest.json'), '{}');
    expect(await veritrain('model', 'check', at('planned'))).toMatchObject({
      error: { action: `name a file in it, such as ${at('planned', 'manifest.json')}` },
    });
  });
});
