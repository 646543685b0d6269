/** An op or a loss is one place in each part: nobody else asks which it is. */
import { expect, it } from 'vitest';
import ts from 'typescript';
import { parseSource } from './source.js';
import { filesBelow, textOf } from './tree.js';

const isPlace = (path: string): boolean => /\/(ops|losses)\//.test(path);
/** The contracts are two relations by name, and their own part. */
const isContract = (path: string): boolean =>
  /^libs\/settlement\/src\/(types\/|(contracts|deployment|graph)\.ts)/.test(path);

const rules: readonly (readonly [string, RegExp])[] = [
  ['names an op or a loss', /softmax|squaredError|cross_?entropy|(?<![a-z])(mse|relu|dense|sigmoid)(?![a-z])/i],
  ['reads a layer off a name', /Number\([\w.]*name\.\w+\(/i],
  ['tells weight and bias by their place', /(\[\w+ >> 1\]|% 2 === 0 \? (\w+\.)*(W|weight)\w*\b)/],
  ['reads features or classes off the widths', /(?<![\w.])(m|manifest|spec\.manifest)\.dims(\[0\]|\.at\(-1\))/],
];

/** Rules that code breaks; comments are no code. */
function broken(path: string, text: string): string[] {
  const suspected = rules.filter(([, pattern]) => pattern.test(text));
  if (suspected.length === 0) return [];
  const code = ts.createPrinter({ removeComments: true }).printFile(parseSource(path, text));
  return suspected.filter(([, pattern]) => pattern.test(code)).map(([rule]) => `${path}: ${rule}`);
}

it('only the files of ops and losses, and one registry a part, know which they are', () => {
  const sources = ['apps', 'attestation', 'enclave', 'libs'].flatMap((folder) => filesBelow(folder, /\.ts$/));
  const judged = sources.filter(
    (path) => !/\.test\.ts$|\/(test|testing)\//.test(path) && !isPlace(path) && !isContract(path),
  );
  expect(judged.length).toBeGreaterThan(500);
  expect(judged.flatMap((path) => broken(path, textOf(path)))).toEqual([]);
});

it('every registry has the same losses', () => {
  const registries = filesBelow('libs', /index\.ts$/).filter((path) => /(?<!\/net)\/losses\/index\.ts$/.test(path));
  const losses = (path: string): string[] =>
    filesBelow(path.slice(0, -'/index.ts'.length), /\.ts$/)
      .map((file) => file.split('/').at(-1)!)
      .filter((file) => textOf(path).includes(`'./${file.replace(/ts$/, 'js')}'`) && file !== 'loss.ts');
  expect(registries.length).toBe(6);
  for (const path of registries) expect([path, losses(path)]).toEqual([path, ['mse.ts', 'softmax-ce.ts']]);
});

it.each([
  [`if (m.loss.kind === 'mse') squares();`, 'names an op or a loss'],
  [`const layer = Number(tensor.name.slice(1));`, 'reads a layer off a name'],
  [`const gradient = index % 2 === 0 ? layer.weight : layer.bias;`, 'tells weight and bias by their place'],
  [`const n0 = m.dims[0]!;`, 'reads features or classes off the widths'],
  [`import { softmaxCe } from './losses/softmax-ce.js';`, 'names an op or a loss'],
])('a planted violation is found: %s', (line, rule) => {
  expect(broken('planted.ts', line)).toEqual([`planted.ts: ${rule}`]);
  expect(broken('planted.ts', `// ${line}\n/** ${line} */\nexport {};`)).toEqual([]);
});
