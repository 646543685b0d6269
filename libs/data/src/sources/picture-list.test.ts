/** Pictures whose label nobody asks for, and folders that have none where it is asked for. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PNG } from 'pngjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSource } from '../index.js';

const folder = mkdtempSync(join(tmpdir(), 'data-pictures-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string): string => join(folder, name);

function put(name: string, bytes: Uint8Array | string): string {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), bytes);
  return at(name);
}

function png(shade: number): Buffer {
  const image = new PNG({ width: 2, height: 1 });
  image.data.fill(255).set([shade, shade, shade]);
  return PNG.sync.write(image);
}

type Options = NonNullable<Parameters<typeof openSource>[1]>;

async function read(path: string, options: Options) {
  const source = await openSource(path, options);
  const found: (readonly [file: string, shade: number, width: number])[] = [];
  for await (const { rows, files } of source.rows()) {
    rows.forEach((row, i) => found.push([files![i]!, (row[0] as Uint8Array)[0]!, row.length]));
  }
  return { found, notes: source.notes(), columns: source.columns.map(({ name }) => name), file: source.file };
}

describe('where nobody asks for labels', () => {
  const hasLabels = false;

  it('are read from a folder at any depth, with their paths', async () => {
    for (const [i, name] of ['b.png', 'a.PNG', 'cats/2.png', 'cats/deep/1.png', '.hidden/x.png'].entries()) {
      put(`any/${name}`, png(i));
    }
    put('any/notes.md', 'no picture');
    expect(await read(at('any'), { hasLabels })).toEqual({
      found: [
        ['a.PNG', 1, 1],
        ['b.png', 0, 1],
        ['cats/2.png', 2, 1],
        ['cats/deep/1.png', 3, 1],
      ],
      ...{ notes: ['1 files are no PNG or JPEG: notes.md'], columns: ['image'], file: 'any' },
    });
  });

  it('are read from a table of names alone, and from a single file', async () => {
    put('named/x.png', png(7));
    put('named/y.png', png(8));
    const labels = put('names.csv', 'id,file\n1,y.png\n2,x.png\n');
    expect((await read(at('named'), { hasLabels, labels })).found).toEqual([
      ['y.png', 8, 1],
      ['x.png', 7, 1],
    ]);
    const alone = put('alone.csv', 'picture\nx.png\n');
    expect((await read(at('named'), { hasLabels, labels: alone })).found).toEqual([['x.png', 7, 1]]);
    const single = await read(at('named/x.png'), { hasLabels });
    expect([single.found, single.file]).toEqual([[['x.png', 7, 1]], 'x.png']);
  });

  it('lead no more out of the folder than others', async () => {
    const out = put('out.png', png(1));
    mkdirSync(at('kept'));
    symlinkSync(out, at('kept/link.png'));
    await expect(read(at('kept'), { hasLabels })).rejects.toMatchObject({ code: 'DATA_PATH' });
    mkdirSync(at('none'));
    await expect(read(at('none'), { hasLabels })).rejects.toMatchObject({ code: 'DATA_EMPTY' });
  });
});

describe('where labels are asked for', () => {
  beforeAll(() => {
    put('flat/1.png', png(1));
    for (const name of ['train/a/1.png', 'train/b/2.png', 'test/a/3.png', 'test/b/4.png']) put(`sets/${name}`, png(1));
    for (const name of ['a/1.png', 'b/2.png']) put(`packed/flowers/${name}`, png(1));
    for (const name of ['cat/x/1.png', 'dog/y/2.png']) put(`deep/${name}`, png(1));
    for (const name of ['a/1.png', 'b/2.png', 'c.png', 'a/more/3.png']) put(`partly/${name}`, png(1));
  });

  it.each([
    ['flat', 'DATA_LABEL', '1 pictures without one, first 1.png', 'predict alone needs no labels'],
    ['flat/1.png', 'DATA_LABEL', 'one picture', 'predict alone needs no labels'],
    ['sets', 'DATA_NESTED', 'folders in them: test/a, test/b, train/a, train/b', `train on ${at('sets/train')}`],
    ['sets', 'DATA_NESTED', '', `--validation ${at('sets/test')}`],
    ['packed', 'DATA_NESTED', '', at('packed/flowers')],
    ['deep', 'DATA_NESTED', 'folders in them: cat/x, dog/y', 'put all pictures of a class into its folder'],
  ])('are refused where there are none, with what to do: %s', async (path, code, got, action) => {
    await expect(read(at(path), {})).rejects.toMatchObject({
      code,
      detail: { got: expect.stringContaining(got) as unknown, action: expect.stringContaining(action) as unknown },
    });
  });

  it('are refused where a table has names alone', async () => {
    const labels = put('only.csv', 'file\n1.png\n');
    await expect(read(at('flat'), { labels })).rejects.toMatchObject({
      ...{ code: 'DATA_COLUMN_MISSING', detail: { action: expect.stringContaining('predict') as unknown } },
    });
  });

  it('are of classes alone, and what else lies there is told as what it is', async () => {
    const { found, notes } = await read(at('partly'), {});
    expect(found.map(([file]) => file)).toEqual(['a/1.png', 'b/2.png']);
    expect(notes).toEqual([
      "1 pictures lie in no class's folder: c.png",
      "1 folders inside a class's folder were not read: a/more",
    ]);
  });
});
