/** Two examples from data to prediction, and what is said of others. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { chosen } from '../model/prompt.js';
import { run } from '../program.js';
import { listExamples } from './description.js';
import { makers } from './made/index.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-examples-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => {
  process.exitCode = 0;
  vi.unstubAllEnvs();
});

interface Said {
  readonly document: Readonly<Record<string, unknown>>;
  /** Standard error. */
  readonly lines: string;
}

async function veritrain(...args: string[]): Promise<Said> {
  let [out, lines] = ['', ''];
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => ((out += String(text)), true));
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation((text) => ((lines += String(text)), true));
  try {
    await run(['node', 'veritrain', ...args, '--json']);
  } finally {
    stdout.mockRestore();
    stderr.mockRestore();
  }
  return { document: JSON.parse(out) as Said['document'], lines };
}

it('goes from a table to predictions, and prints every command', async () => {
  const out = join(folder, 'penguins');
  const { document, lines } = await veritrain('example', 'run', 'table-classes', '--short', '--out', out);
  const { metrics, commands } = document as { metrics: Record<string, number>; commands: { command: string }[] };
  expect(metrics.accuracy).toBeGreaterThan(0.6);
  expect(commands.map(({ command }) => command.split(' ').slice(0, 3).join(' '))).toEqual([
    ...['veritrain model init', 'veritrain model check', 'veritrain train --manifest'],
    ...['veritrain evaluate --model', 'veritrain predict --model'],
  ]);
  for (const { command } of commands) expect(lines).toContain(`$ npx ${command}\n`);
  expect(readFileSync(join(out, 'predictions.csv'), 'utf8').trim().split('\n')).toHaveLength(50);
});

it('ends a language model with samples of its text, which the same seed gives again', async () => {
  const out = join(folder, 'text');
  const { document } = await veritrain('example', 'run', 'text', '--short', '--out', out);
  const { commands } = document as { commands: { result: { text?: string } }[] };
  const [drawn, likeliest] = commands.slice(-2).map(({ result }) => result.text);
  const asked = ['predict', '--model', join(out, 'model'), '--prompt', 'Call me ', '--length', '40'];
  expect((await veritrain(...asked, '--seed', '1')).document).toMatchObject({ text: drawn, tokens: 40 });
  expect((await veritrain(...asked, '--seed', '2')).document.text).not.toBe(drawn);
  expect((await veritrain(...asked, '--temperature', '0')).document.text).toBe(likeliest);
  for (const [name, value] of [
    ['--length', '0'],
    ['--temperature', 'hot'],
    ['--prompt', ''],
  ]) {
    const { document: refused } = await veritrain(...asked, name!, value!);
    expect(refused.error).toMatchObject({ code: name === '--prompt' ? 'PROMPT_EMPTY' : 'USAGE' });
  }
  const { document: strange } = await veritrain(...asked, '--prompt', '☕猫');
  expect(strange.error).toMatchObject({
    code: 'PROMPT_EMPTY',
    got: expect.stringContaining('"☕" (U+2615)') as unknown,
  });
  const { document: mixed, lines } = await veritrain(...asked, '--prompt', 'a ☕');
  expect([mixed.unknown, lines.includes('does not know "☕" (U+2615) of the prompt')]).toEqual([['☕'], true]);
  const { document: other } = await veritrain('predict', '--model', join(folder, 'penguins', 'model'), '--prompt', 'a');
  expect(other.error).toMatchObject({ code: 'PROMPT_MODEL' });
});

it('draws tokens by their probabilities, and at temperature 0 the likeliest', () => {
  const logits = Float64Array.of(0, Math.log(3) * 16, -1e6);
  expect([0, 0.24, 0.26, 0.999].map((share) => chosen(logits, 1 / 16, 1, share))).toEqual([0, 0, 1, 1]);
  expect([0, 0.999].map((share) => chosen(logits, 1 / 16, 0, share))).toEqual([1, 1]);
});

describe('the list', () => {
  it('has a page, a command and an expectation for each, and fits what is said of them', async () => {
    const { document } = await veritrain('example', 'list');
    const listed = (document.examples as { name: string }[]).map(({ name }) => name);
    expect(listed).toEqual(listExamples().map(({ name }) => name));
    for (const one of listExamples()) {
      const page = readFileSync(join(one.folder, 'README.md'), 'utf8');
      expect(page).toContain(`npx veritrain example run ${one.name}\n`);
    }
  });

  it('names what there is where a name is unknown', async () => {
    const { document } = await veritrain('example', 'run', 'digit');
    expect(document.error).toMatchObject({ code: 'EXAMPLE_UNKNOWN', got: 'digit' });
    expect((document.error as { expected: string }).expected).toContain('digits');
  });
});

it('empties no folder that it did not make', async () => {
  const mine = join(folder, 'mine.txt');
  writeFileSync(mine, 'mine');
  const { document } = await veritrain('example', 'run', 'table-classes', '--short', '--out', folder);
  expect(document.error).toMatchObject({ code: 'EXAMPLE_FOLDER' });
  const { document: ofFile } = await veritrain('example', 'run', 'table-classes', '--short', '--out', mine);
  expect(ofFile.error).toMatchObject({ code: 'EXAMPLE_FOLDER' });
  expect(existsSync(mine)).toBe(true);
});

it.each(['digits', 'faults', 'flats', 'mnist', 'shapes'] as const)('makes the same %s each time', (name) => {
  const files = {
    digits: 'train',
    faults: 'train.csv',
    flats: 'test.csv',
    mnist: 't10k-images-idx3-ubyte',
    shapes: 'train',
  }[name];
  const made = ['a', 'b'].map((one) => {
    const at = join(folder, `${name}-${one}`);
    makers[name](at, 10);
    return files === 'train' ? pictures(join(at, files)) : readFileSync(join(at, files));
  });
  expect(made[0]).toEqual(made[1]);
});

it('reads Fashion-MNIST from the folder that is named, compressed or not, and says what to install where there is none', async () => {
  const named = join(folder, 'named');
  makers.mnist(named, 10);
  for (const name of readdirSync(named).slice(0, 2)) {
    writeFileSync(join(named, `${name}.gz`), gzipSync(readFileSync(join(named, name))));
    rmSync(join(named, name));
  }
  vi.stubEnv('VERITRAIN_FASHION_MNIST', named);
  makers.fashion(join(folder, 'fashion'), 5);
  makers.mnist(join(folder, 'five'), 5);
  for (const name of readdirSync(join(folder, 'five'))) {
    expect(readFileSync(join(folder, 'fashion', name))).toEqual(readFileSync(join(folder, 'five', name)));
  }
  vi.stubEnv('VERITRAIN_FASHION_MNIST', '/nowhere');
  const { document } = await veritrain('example', 'run', 'fashion', '--short', '--out', join(folder, 'none'));
  expect(document.error).toMatchObject({ code: 'FASHION_MISSING' });
  expect((document.error as { action: string }).action).toContain('dataset-fashion-mnist');
});

function pictures(at: string): readonly Buffer[] {
  const paths = [...'0123456789', 'cross', 'disk', 'square', 'triangle'].flatMap((kind) =>
    Array.from({ length: 10 }, (_, index) => join(at, kind, `0000${index}.png`)),
  );
  return paths.filter((path) => existsSync(path)).map((path) => readFileSync(path));
}
