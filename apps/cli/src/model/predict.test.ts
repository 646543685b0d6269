/** Predictions for new pictures, which need no labels, and for text, whose tokens are shown. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import jpeg from 'jpeg-js';
import { PNG } from 'pngjs';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { run } from '../program.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-predict-'));
const at = (name: string): string => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => void (process.exitCode = 0));

interface Answer {
  readonly [member: string]: unknown;
  readonly error?: { readonly code: string; readonly got: string };
}

async function veritrain(...args: string[]): Promise<string> {
  let out = '';
  process.exitCode = 0;
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => ((out += String(text)), true));
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation(() => true);
  try {
    await run(['node', 'veritrain', ...args]);
  } finally {
    stdout.mockRestore();
    stderr.mockRestore();
  }
  return out;
}

const answer = async (...args: string[]): Promise<Answer> => JSON.parse(await veritrain(...args, '--json')) as Answer;

function put(name: string, bytes: Uint8Array | string): string {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), bytes);
  return at(name);
}

async function train(data: string, model: string, ...args: string[]): Promise<void> {
  const plan = at(`${model}-plan`);
  await answer('model', 'init', '--from', data, '--out', plan, '--seed', `0x${'5a'.repeat(32)}`, ...args);
  await answer('train', '--manifest', join(plan, 'manifest.json'), '--data', data, '--out', at(model));
}

type Color = readonly [red: number, green: number, blue: number];

/** A plane of a color, a bit different each time. */
function png([red, green, blue]: Color, variant: number, side = 4, isGrey = false): Buffer {
  const image = new PNG({ width: side, height: side });
  for (let i = 0; i < side * side; i++) image.data.set([red, green + ((i * 3 + variant) % 30), blue, 255], 4 * i);
  return PNG.sync.write(image, isGrey ? { colorType: 0 } : {});
}

const colors = { red: [220, 10, 10], blue: [10, 10, 220] } as const satisfies Record<string, Color>;

describe('a model of pictures', { timeout: 120_000 }, () => {
  beforeAll(async () => {
    for (const name of ['red', 'blue'] as const) {
      for (let i = 0; i < 40; i++) put(`classes/${name}/${i}.png`, png(colors[name], i));
    }
    await train(at('classes'), 'pictures', '--epochs', '6');
    put('new/b.png', png(colors.blue, 77));
    put('new/more/r.png', png(colors.red, 78));
  }, 120_000);

  const predict = (data: string, out: string, ...more: string[]): Promise<Answer> =>
    answer('predict', '--model', at('pictures'), '--data', data, '--out', at(out), ...more);
  const first = [
    { row: 1, file: 'b.png', label: 'blue' },
    { row: 2, file: 'more/r.png', label: 'red' },
  ];

  it('answers for a folder without classes, by file, as CSV and as JSON lines', async () => {
    expect(await predict(at('new'), 'new.csv')).toMatchObject({
      ...{ rows: 2, columns: ['file', 'label', 'probability'], counted: 'pictures of new from 1', first },
    });
    const lines = readFileSync(at('new.csv'), 'utf8').split('\n');
    expect(lines[0]).toBe('row,file,label,probability');
    expect(lines[2]).toMatch(/^2,more\/r\.png,red,\d\.\d{6}$/);
    await predict(at('new'), 'new.jsonl');
    const objects = readFileSync(at('new.jsonl'), 'utf8').trim().split('\n');
    expect(objects.map((line) => JSON.parse(line) as unknown)).toMatchObject(first);
    const shown = await veritrain('predict', '--model', at('pictures'), '--data', at('new'), '--out', at('new.csv'));
    expect(shown).toMatch(/row +counts the pictures of new from 1\nrow 1 +file b\.png, label blue, probability /);
  });

  it('answers for a single file, and for a table of names alone', async () => {
    const data = Buffer.from(Array.from({ length: 16 }, () => [...colors.red, 255]).flat());
    const photo = put('photo.jpg', jpeg.encode({ width: 4, height: 4, data }, 95).data);
    expect(await predict(photo, 'one.csv')).toMatchObject({ rows: 1, first: [{ file: 'photo.jpg', label: 'red' }] });
    const names = put('names.csv', 'file\nmore/r.png\n');
    expect(await predict(at('new'), 'named.csv', '--labels', names)).toMatchObject({
      ...{ rows: 1, first: [{ row: 1, file: 'more/r.png', label: 'red' }] },
    });
    expect((await predict(at('new'), 'names.csv', '--labels', names)).error).toMatchObject({ code: 'USAGE' });
    expect(readFileSync(names, 'utf8')).toBe('file\nmore/r.png\n');
    const grey = put('grey/g.png', png([90, 90, 90], 0, 4, true));
    expect(await predict(grey, 'grey.csv')).toMatchObject({ rows: 1 });
  });

  it('names the size that it takes, and measures on labelled pictures alone', async () => {
    const wide = put('wide.png', png(colors.red, 0, 6));
    expect((await predict(wide, 'wide.csv')).error).toMatchObject({ code: 'DATA_IMAGE_SIZE', got: '6×6×3' });
    for (const data of ['new', 'new/b.png']) {
      const { error } = await answer('evaluate', '--model', at('pictures'), '--data', at(data));
      expect(error).toMatchObject({ code: 'DATA_LABEL' });
    }
  });
});

describe('a model of text', { timeout: 120_000 }, () => {
  /** Characters with spaces, and pairs of them; nothing stands for others. */
  const tokens = ['</s>', 'a', 'b', 'c', ' ', '\n', 'ab'];
  const tokenizer = {
    ...{ version: '1.0', normalizer: null, pre_tokenizer: null, post_processor: null, decoder: { type: 'Fuse' } },
    added_tokens: [
      { id: 0, content: '</s>', special: true, single_word: false, lstrip: false, rstrip: false, normalized: false },
    ],
    model: {
      ...{ type: 'BPE', unk_token: null, merges: [['a', 'b']] },
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
    },
  };
  const language = ['--task', 'language', '--tokens', '8', '--epochs', '2'];

  beforeAll(async () => {
    const file = put('bpe.json', JSON.stringify(tokenizer));
    await train(put('story.txt', 'ab c ab c\n'.repeat(150)), 'text', ...language, '--tokenizer', file);
  }, 120_000);

  it('shows the text of the next token beside its number', async () => {
    const out = at('text.csv');
    const data = put('next.txt', 'ab c ab c\n'.repeat(12));
    const made = await answer('predict', '--model', at('text'), '--data', data, '--out', out);
    expect(made).toMatchObject({
      columns: ['next token', 'text', 'probability'],
      counted: 'records of 8 tokens of next.txt from 1; the next token follows each',
    });
    for (const one of made['first'] as { 'next token': number; text: string }[]) {
      expect(one.text).toBe(tokens[one['next token']]);
    }
    expect(readFileSync(out, 'utf8')).toMatch(/^row,next token,text,probability\n1,\d,/);
  });

  it('refuses what its tokenizer does not know, in training, predictions and prompts', async () => {
    const strange = put('strange.txt', `${'ab c ab c\n'.repeat(20)}ab ☕\n`);
    const refused = { code: 'DATA_CHARACTER', file: 'strange.txt', row: 21, got: '"☕" (U+2615)' };
    const init = ['model', 'init', '--from', strange, '--out', at('none'), '--tokenizer', at('bpe.json'), ...language];
    expect((await answer(...init)).error).toMatchObject(refused);
    const predict = ['predict', '--model', at('text')];
    const out = ['--out', at('none.csv')];
    expect((await answer(...predict, '--data', strange, ...out)).error).toMatchObject(refused);
    const manifest = join(at('text-plan'), 'manifest.json');
    const again = ['train', '--manifest', manifest, '--data', strange, '--out', at('none')];
    expect((await answer(...again)).error).toMatchObject(refused);
    expect((await answer(...predict, '--prompt', 'ab☕')).error).toMatchObject({ code: 'DATA_CHARACTER' });
    expect((await answer(...predict, '--prompt', '☕猫')).error).toMatchObject({
      ...{ code: 'PROMPT_EMPTY', got: expect.stringContaining('"☕" (U+2615), "猫" (U+732B)') as unknown },
    });
    expect(await answer(...predict, '--prompt', 'ab c', '--length', '3')).toMatchObject({ tokens: 3, unknown: [] });
  });
});

it('names values that no training row had, and a column that is spelled otherwise throughout', async () => {
  const line = (i: number, yes: string): string => `${i % 7},${i % 2 ? yes : 'no'},${i % 2 ? 'b' : 'a'}`;
  const table = (yes: string, rows = 40) => Array.from({ length: rows }, (_, i) => line(i, yes)).join('\n');
  const data = put('members.csv', `x,member,label\n${table('yes')}\n`);
  await train(data, 'members', '--epochs', '1');
  const predicted = async (rows: string): Promise<string> =>
    veritrain(
      ...['predict', '--model', at('members'), '--data', put('asked.csv', `x,member\n${rows}\n`)],
      ...['--out', at('asked-out.csv')],
    );
  const some = await predicted('1,yes\n2,ja\n3,"si, si"');
  expect(some).toMatch(/never seen +2 in column member \("ja", "si, si"\)\n/);
  expect(some).not.toContain('warning');
  expect(await predicted('1,Y\n2,N\n3,')).toMatch(/warning +no cell of column member is as in training/);
}, 120_000);
