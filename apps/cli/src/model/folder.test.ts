/** A folder of a trained model that another one takes the place of. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { drawnParameters, parseDataHeader } from '#libs/step';
import { exportOnnx, planModel, withOrigin } from '#libs/models';
import { handMade } from '#test/onnx-files';
import { runCommand } from '#test/run-command';
import { makeModelFolder, makeResultFolder, readModel, writeModel, type ModelFolder } from './folder.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-folder-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const handMadeOnnx = handMade(['n', 2], (graph, x) => graph.node('Relu', [x]));
const timeout = { timeout: 120_000 };

function modelOf(columns: number): ModelFolder {
  const header = parseDataHeader({
    ...{ layout: 2, features: { dtype: 'int16', shape: [columns], frac: 12 }, split: { train: 64, validation: 0 } },
    label: { kind: 'class', classes: 2, columns: [{ name: 'y', kind: 'category', values: ['n', 'y'] }] },
    columns: Array.from({ length: columns }, (_, i) => ({ name: `c${i}`, kind: 'number', center: 0, scale: 1 })),
    tokenizer: null,
  });
  const rows = { train: 64, validation: 0 };
  const { manifest } = planModel({ header, rows, seed: `0x${'5a'.repeat(32)}`, epochs: 1 });
  return { manifest, header, parameters: drawnParameters(manifest) };
}

/** Bytes of its files by name; null: a folder. */
function contentOf(path: string): Map<string, Buffer | null> {
  const entries = readdirSync(path, { withFileTypes: true }).sort((a, b) => a.name.localeCompare(b.name));
  return new Map(entries.map((one) => [one.name, one.isFile() ? readFileSync(join(path, one.name)) : null]));
}

describe('a model in the place of another', () => {
  it('leaves no tokenizer of the other', () => {
    const path = join(folder, 'one');
    writeModel(path, { ...modelOf(2), tokenizer: Uint8Array.of(1) });
    expect(readModel(path).tokenizer).toBeDefined();
    writeModel(path, modelOf(3));
    expect(readModel(path).tokenizer).toBeUndefined();
  });

  it('is not there where it could not be put in its place, and the other one is whole', () => {
    const path = join(folder, 'two');
    writeModel(path, { ...modelOf(2), tokenizer: Uint8Array.of(1) });
    const former = contentOf(path);
    // Nobody can write a file where a folder is.
    rmSync(join(path, 'header.json'));
    mkdirSync(join(path, 'header.json'));
    writeFileSync(join(path, 'header.json', 'keep'), '');
    expect(() => writeModel(path, modelOf(3))).toThrow(expect.objectContaining({ code: 'FILE_UNWRITABLE' }));
    const left = contentOf(path);
    expect([...left.keys()]).toEqual([...former.keys()]);
    for (const name of ['manifest.json', 'tokenizer.json', 'weights.bin']) {
      expect(left.get(name)).toEqual(former.get(name));
    }
  });

  it('is found by the next command that reads it, where the one that wrote it was killed', async () => {
    const path = join(folder, 'killed');
    writeModel(path, modelOf(2));
    for (const name of readdirSync(path)) renameSync(join(path, name), join(path, `${name}.former-999999999-01234567`));
    writeModel(join(folder, 'next'), modelOf(3));
    for (const name of readdirSync(join(folder, 'next'))) {
      renameSync(join(folder, 'next', name), join(path, `${name}.new-999999999-01234567`));
    }
    const check = await runCommand('model', 'check', join(path, 'manifest.json'));
    expect(check.json['error']).toBeUndefined();
    expect(readdirSync(path).toSorted()).toEqual(['header.json', 'manifest.json', 'weights.bin']);
    expect(readModel(path).manifest.input.shape).toEqual([3]);
  });

  it('takes nothing from a folder that has no model', () => {
    const path = join(folder, 'three');
    mkdirSync(path);
    writeFileSync(join(path, 'tokenizer.json'), '{}');
    writeModel(path, modelOf(2));
    expect(existsSync(join(path, 'tokenizer.json'))).toBe(true);
  });
});

it('weights of another length are named, and what to do about them', () => {
  const path = join(folder, 'mixed');
  writeModel(path, modelOf(2));
  const weights = join(path, 'weights.bin');
  writeFileSync(weights, readFileSync(weights).subarray(8));
  const detail = {
    expected: expect.stringContaining(weights) as unknown,
    action: expect.stringContaining('copy all of it') as unknown,
  };
  expect(() => readModel(path)).toThrow(
    expect.objectContaining({ code: 'WEIGHTS_LENGTH', detail: expect.objectContaining(detail) as unknown }),
  );
});

it('the result of a job is not trained over: its evidence would stand beside other weights', async () => {
  const model = modelOf(2);
  writeFileSync(join(folder, 'rows.csv'), 'c0,c1,y\n1,2,n\n3,4,y\n');
  const train = async (out: string) => {
    const files = ['--manifest', join(out, 'manifest.json'), '--data', join(folder, 'rows.csv'), '--out', out];
    return (await runCommand('train', ...files)).json['error'];
  };
  const onnx = exportOnnx(model.manifest, model.parameters, { header: model.header });
  const origin = { jobId: `0x${'11'.repeat(32)}`, weights: `0x${'22'.repeat(32)}` };
  for (const [name, bytes] of [
    ['job.vtb', Uint8Array.of(1)],
    ['model.onnx', withOrigin(onnx, origin)],
  ] as const) {
    const path = join(folder, `result-${name}`);
    writeModel(path, model);
    writeFileSync(join(path, name), bytes);
    const before = readFileSync(join(path, 'weights.bin'));
    expect(await train(path)).toMatchObject({
      code: 'USAGE',
      expected: '--out without the result of a job, whose weights would be replaced',
      got: join(path, name),
    });
    expect(readFileSync(join(path, 'weights.bin'))).toEqual(before);
  }
  const damaged = join(folder, 'damaged');
  mkdirSync(damaged);
  writeFileSync(join(damaged, 'model.onnx'), onnx.subarray(0, -1));
  const refused = expect.objectContaining({
    code: 'USAGE',
    detail: expect.objectContaining({ got: join(damaged, 'model.onnx') }),
  });
  expect(() => makeModelFolder(damaged, model.manifest)).toThrow(refused as Error);
  const own = join(folder, 'exported');
  writeModel(own, model);
  writeFileSync(join(own, 'model.onnx'), onnx);
  expect(JSON.stringify(await train(own))).not.toContain('the result of a job');
});

it('a trained model is replaced by one of the same manifest alone', () => {
  const [own, other] = [modelOf(2), modelOf(3)];
  const path = join(folder, 'trained');
  writeModel(path, own);
  const before = readFileSync(join(path, 'weights.bin'));
  makeModelFolder(path, own.manifest);
  const detail = expect.objectContaining({ got: join(path, 'weights.bin') }) as unknown;
  const refused = expect.objectContaining({ code: 'USAGE', detail }) as Error;
  expect(() => makeModelFolder(path, other.manifest)).toThrow(refused);
  makeModelFolder(path, other.manifest, true);
  expect(readFileSync(join(path, 'weights.bin'))).toEqual(before);
});

it(
  'train --replace takes the place of another model when it is trained, and of no result of a job',
  timeout,
  async () => {
    const [own, other] = [modelOf(2), modelOf(3)];
    const [path, plan, data] = ['former', 'plan', 'wide.csv'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    const lines = Array.from({ length: 64 }, (_, i) => `${i % 7},${i % 5},${i % 3},${'ny'[i % 2]!}`);
    writeFileSync(data, ['c0,c1,c2,y', ...lines, ''].join('\n'));
    writeModel(plan, other);
    const train = async (...more: string[]) => {
      const files = ['--manifest', join(plan, 'manifest.json'), '--data', data, '--out', path, '--validation', '0'];
      return (await runCommand('train', ...files, ...more)).json;
    };
    writeModel(path, own);
    expect(await train()).toMatchObject({ error: { code: 'USAGE', got: join(path, 'weights.bin') } });
    expect(readModel(path).manifest).toEqual(own.manifest);
    expect(await train('--replace')).toMatchObject({ model: path });
    expect(readModel(path).manifest).toEqual(other.manifest);
    writeModel(path, own);
    writeFileSync(join(path, 'job.vtb'), Uint8Array.of(1));
    expect(await train('--replace')).toMatchObject({ error: { code: 'USAGE', got: join(path, 'job.vtb') } });
    expect(readModel(path).manifest).toEqual(own.manifest);
  },
);

describe('train into the folder of another plan', () => {
  const dataOf = (name: string, head: string, cellsOf: (i: number) => string): string => {
    const path = join(folder, name);
    writeFileSync(path, [head, ...Array.from({ length: 80 }, (_, i) => cellsOf(i)), ''].join('\n'));
    return path;
  };
  const veritrain = async (...args: string[]) => (await runCommand(...args)).json;

  it('is refused, with --replace too: seal and train would read the plan of another manifest', timeout, async () => {
    const wide = dataOf('plan-wide.csv', 'c0,c1,old', (i) => `${i % 7},${i % 5},${'ny'[i % 2]}`);
    const other = dataOf('plan-other.csv', 'c0,new', (i) => `${i % 7},${'ab'[i % 2]}`);
    const [out, plan] = [join(folder, 'former-plan'), join(folder, 'next-plan')];
    const init = ['model', 'init', '--epochs', '1', '--validation', '0'];
    await veritrain(...init, '--from', wide, '--target', 'old', '--out', out);
    await veritrain(...init, '--from', other, '--target', 'new', '--out', plan);
    const [manifest, own] = [join(plan, 'manifest.json'), join(out, 'manifest.json')];
    const before = readFileSync(join(out, 'plan.json'));
    const train = ['train', '--data', other, '--manifest', manifest, '--out', out];
    const refused = {
      error: {
        code: 'USAGE',
        expected: '--out without the plan of another manifest, which stays beside --replace too',
        got: join(out, 'plan.json'),
        action: 'name another folder',
      },
    };
    expect(await veritrain(...train)).toMatchObject(refused);
    // Trained into its own folder and again, a plan stays what it was.
    for (let i = 0; i < 2; i++) {
      expect(await veritrain('train', '--data', wide, '--manifest', own, '--out', out)).toMatchObject({ model: out });
    }
    expect(await veritrain(...train, '--replace')).toMatchObject(refused);
    const sealed = ['--out', join(folder, 'sealed'), '--key', join(folder, 'sealed.key')];
    expect(await veritrain('dataset', 'seal', '--manifest', own, '--data', wide, ...sealed)).toHaveProperty('root');
    expect(readFileSync(join(out, 'plan.json'))).toEqual(before);
  });
});

it('what model export made of former weights goes with them, and nothing that another wrote', timeout, async () => {
  const model = modelOf(2);
  const [path, bare] = [join(folder, 'served'), join(folder, 'bare')];
  const names = ['model.onnx', 'model.safetensors', 'interface.json'];
  writeModel(path, model);
  await runCommand('model', 'export', '--model', path, '--out', path);
  expect(readdirSync(path)).toEqual(expect.arrayContaining(names));
  const data = join(folder, 'served.csv');
  writeFileSync(
    data,
    `c0,c1,y\n${Array.from({ length: 64 }, (_, i) => `${i % 7},${i % 5},${'ny'[i % 2]}\n`).join('')}`,
  );
  const files = ['--manifest', join(path, 'manifest.json'), '--data', data, '--out', path, '--validation', '0'];
  const { json } = await runCommand('train', ...files);
  const note = `${names.join(', ')}, which model export had made of the former model in --out, went with its weights`;
  expect(json['notes']).toContain(note);
  expect(readdirSync(path).filter((name) => names.includes(name))).toEqual([]);
  for (const name of names) writeFileSync(join(path, name), name === 'model.onnx' ? handMadeOnnx : '{"input":{}}');
  expect(writeModel(path, model)).toEqual([]);
  expect(readdirSync(path)).toEqual(expect.arrayContaining(names));
  mkdirSync(bare);
  writeFileSync(join(bare, 'model.onnx'), exportOnnx(model.manifest, model.parameters));
  expect(writeModel(bare, model)).toEqual([]);
});

it('the result of a job goes where no other model is, and may be fetched again', () => {
  const { manifest, header, parameters } = modelOf(2);
  const jobId = '11'.repeat(32);
  const id = `0x${jobId}`;
  const path = join(folder, 'fetched');
  makeResultFolder(path, id);
  writeModel(path, { manifest, header, parameters });
  expect(() => makeResultFolder(path, id)).toThrow(expect.objectContaining({ code: 'USAGE' }));
  // As a verdict has them.
  const weights = '22'.repeat(32);
  writeFileSync(join(path, 'model.onnx'), withOrigin(exportOnnx(manifest, parameters, { header }), { jobId, weights }));
  makeResultFolder(path, id);
  expect(() => makeResultFolder(path, `0x${'33'.repeat(32)}`)).toThrow(expect.objectContaining({ code: 'USAGE' }));
});

it('a model.onnx that is none is named, with what to do, before a result is paid and where a model is exported', async () => {
  const model = modelOf(2);
  const path = join(folder, 'cut');
  writeModel(path, model);
  const file = join(path, 'model.onnx');
  writeFileSync(file, exportOnnx(model.manifest, model.parameters).subarray(0, -1));
  const words = (option: string): string =>
    `${option} without a model.onnx that is none (ONNX_MALFORMED): remove it, or name another folder`;
  const detail = expect.objectContaining({ expected: words('--out'), got: file }) as unknown;
  const refused = expect.objectContaining({ code: 'USAGE', detail }) as Error;
  expect(() => makeResultFolder(path, `0x${'11'.repeat(32)}`)).toThrow(refused);
  const { json } = await runCommand('model', 'export', '--model', path, '--out', join(folder, 'never'));
  expect(json['error']).toMatchObject({ code: 'USAGE', expected: words('--model'), got: file });
});
