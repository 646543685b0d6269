/** Circuits against the reference of libs/step, against bad inputs, and against a prover who picks wires freely. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe as describeAlways, expect, it } from 'vitest';
import { keccak, Rejection, toHex, utf8 } from '#attestation/base';
import { initialWeights, profileManifest, segmentReference, type Weights } from '#libs/step';
import { hasGroth16Tools } from '#test/groth16-tools';
import { broken, mentions, undetermined } from '../../testing/constraints.js';
import { bytesOf, groth16Examples, groth16Shape, testCache } from '../../testing/groth16-segments.js';
import { blindFrom, commitToData, commitToWeights } from '../commitment/index.js';
import { circuitInputs, type CircuitInputs, type Witness } from '../prover/witness.js';
import { runTool } from '../toolchain/process.js';
import { readConstraints } from '../toolchain/r1cs.js';
import { openCircuit } from '../toolchain/store.js';
import { makeWhole } from '../toolchain/whole.js';
import { segmentStepSizes } from '../verifier/statement.js';
import { circuitDigest, circuitText } from './circuit.js';
import { circuitShape, R, type CircuitShape } from './shape.js';

const describe = describeAlways.skipIf(!hasGroth16Tools);
const seed = '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120';
const tiny = groth16Shape();
const softmax = groth16Shape({ dims: [3, 4, 3], e: 5, loss: 'softmax-ce', superblock: 2, m: [[0, 1], [3, 7]], steps: 5 }); // prettier-ignore
const deep = circuitShape(
  profileManifest('fx1', { dims: [2, 3, 2, 2], batch: 1, e: [3, 6, 5], loss: 'mse', steps: 9, seed, wint: [3, 2, 1] }),
);

/** Start weights moved by a fixed stream: still in range. */
function weightsOf({ manifest, tensors }: CircuitShape, name: string): Weights {
  return initialWeights(manifest).map((tensor, i) => {
    const noise = bytesOf(`${name} ${tensor.name}`, tensor.values.length);
    const scale = 1n << BigInt(Math.max(tensors[i]!.bits - 12, 0));
    return { ...tensor, values: tensor.values.map((value, k) => value / 2n + (BigInt(noise[k]!) - 128n) * scale) };
  });
}

function witnessOf(shape: CircuitShape, name: string, index = 0): Witness {
  const secret = bytesOf(name, 32);
  return {
    statement: keccak(utf8(name)),
    stepSizes: segmentStepSizes(shape.manifest, index * shape.manifest.superblock),
    weights: weightsOf(shape, name),
    examples: groth16Examples(shape, name),
    blinds: {
      before: blindFrom(secret, 'a', 0),
      after: blindFrom(secret, 'b', 0),
      data: blindFrom(secret, 'c', 0),
    },
  };
}

async function witnesses(shape: CircuitShape, inputs: readonly CircuitInputs[]): Promise<(bigint[] | null)[]> {
  const { wasm } = await openCircuit(testCache, shape);
  const answer = await runTool({ op: 'witness', wasm, inputs });
  return answer.witnesses!.map((values) => values && values.map(BigInt));
}

describe('the circuit is the reference', () => {
  it.each([
    ['2-2-2, mse', tiny, 0],
    ['3-4-3, softmax, two steps with a schedule', softmax, 1],
    ['3-4-3, softmax, the last step beyond the job', softmax, 2],
    ['2-3-2-2, mse, ranges by layer', deep, 4],
  ])('%s', async (name, shape, index) => {
    const cases = Array.from({ length: 12 }, (_, k) => witnessOf(shape, `${name} ${k}`, index));
    const found = await witnesses(
      shape,
      cases.map((one) => circuitInputs(shape, one)),
    );
    let failures = 0;
    cases.forEach(({ weights, examples, blinds }, k) => {
      let after: Weights | undefined;
      try {
        after = segmentReference(shape.manifest, weights, examples, index);
      } catch (error) {
        if (!(error instanceof Rejection) || error.code !== 'GUARD_VIOLATION') throw error;
        failures++;
      }
      const expected = after && [
        commitToWeights(shape, weights, blinds.before),
        commitToWeights(shape, after, blinds.after),
        commitToData(shape, examples, blinds.data),
      ];
      const got = found[k]?.slice(1, 4).map((value) => value.toString(16).padStart(64, '0'));
      expect(got).toEqual(expected?.map(toHex));
    });
    expect(failures).toBeLessThan(cases.length);
  });

  it('has one text per shape, and one digest per text', () => {
    const texts = [tiny, softmax, deep].map(circuitText);
    expect(new Set(texts).size).toBe(3);
    const other = groth16Shape({ steps: 65, m: [[0, 9]] });
    expect(toHex(circuitDigest(other))).toBe(toHex(circuitDigest(tiny)));
    expect(toHex(circuitDigest(groth16Shape({ wint: 1 })))).not.toBe(toHex(circuitDigest(tiny)));
  });
});

type Change = (honest: Readonly<Record<string, string[]>>) => Record<string, string | string[]>;

/** Values that the statement excludes, one at a time. */
const badInputs: readonly (readonly [name: string, change: Change])[] = [
  ['a weight above its range', ({ W1 }) => ({ W1: [String(2 ** tiny.tensors[0]!.bits), ...W1!.slice(1)] })],
  ['a weight below its range', ({ W2 }) => ({ W2: [String(-(2 ** tiny.tensors[2]!.bits) - 1), ...W2!.slice(1)] })],
  ['a bias above its range', ({ b2 }) => ({ b2: [String(2 ** tiny.tensors[3]!.bits), b2![1]!] })],
  ['a pixel of 256', ({ x }) => ({ x: ['256', ...x!.slice(1)] })],
  ['a negative pixel', ({ x }) => ({ x: ['-1', ...x!.slice(1)] })],
  ['two labels', ({ hot }) => ({ hot: ['1', '1', ...hot!.slice(2)] })],
  ['no label', ({ hot }) => ({ hot: ['0', '0', ...hot!.slice(2)] })],
  ['a label in fractions', ({ hot }) => ({ hot: ['2', '-1', ...hot!.slice(2)] })],
  ['a step size of two bytes', () => ({ sizes: '256' })],
  ['weights that leave their range in the step', () => ({ sizes: '255', b1: ['32767', '32767'] })],
  ['pre-activations out of range', () => ({ W1: Array<string>(4).fill('4000000'), x: Array<string>(4).fill('255') })],
];

function changed(honest: CircuitInputs, change: Change): CircuitInputs {
  return { ...honest, ...change(honest as Record<string, string[]>) };
}

describe('values that the statement excludes have no witness', () => {
  let found: (bigint[] | null)[];
  beforeAll(async () => {
    const honest = circuitInputs(tiny, witnessOf(tiny, 'honest'));
    found = await witnesses(tiny, [honest, ...badInputs.map(([, change]) => changed(honest, change))]);
  });
  it('while the honest ones have', () => expect(found[0]).not.toBeNull());
  it.each(badInputs.map(([name], i) => [name, i + 1] as const))('%s', (_name, i) => expect(found[i]).toBeNull());
});

describe('every wire is pinned', () => {
  it.each([
    ['mse', tiny],
    ['softmax', softmax],
  ])('a changed wire breaks a constraint: %s', async (_name, shape) => {
    const { r1cs } = await openCircuit(testCache, shape);
    const constraints = readConstraints(await readFile(r1cs));
    const [honest] = await witnesses(shape, [circuitInputs(shape, witnessOf(shape, 'pinned'))]);
    expect(broken(constraints, honest!)).toEqual([]);
    const near = mentions(constraints);
    const free = honest!.flatMap((value, wire) => {
      if (wire === 0) return [];
      const isPinned = [1n, R - 1n, 1n << 63n].every((change) => {
        const altered = honest!.with(wire, (value + change) % R);
        return broken(constraints, altered, near.get(wire) ?? []).length > 0;
      });
      return isPinned ? [] : [wire];
    });
    expect(free).toEqual([]);
  });
});

interface Compiled {
  readonly constraints: ReturnType<typeof readConstraints>;
  /** Wire of every signal that has one. */
  readonly wires: ReadonlyMap<string, number>;
  readonly wasm: string;
}

/** Compiles text as written, without elimination of linear constraints. */
async function compiled(text: string): Promise<Compiled> {
  const folder = join(testCache, `plain-${toHex(keccak(utf8(text))).slice(0, 32)}`);
  const compile = (work: string) => runTool({ op: 'compile', folder: work, text, simplify: 'O1' });
  if (!existsSync(folder)) await makeWhole(folder, compile);
  const lines = (await readFile(join(folder, 'circuit.sym'), 'utf8')).trim().split('\n');
  const wires = lines.map((line) => line.split(',')).map(([, wire, , name]) => [name!, Number(wire)] as const);
  return {
    constraints: readConstraints(await readFile(join(folder, 'circuit.r1cs'))),
    wires: new Map(wires.filter(([, wire]) => wire >= 0)),
    wasm: join(folder, 'circuit.wasm'),
  };
}

/** Names of wires that a prover could choose although the inputs are fixed. */
async function chosenFreely(text: string, alsoKnown = /^$/): Promise<string[]> {
  const { constraints, wires } = await compiled(text);
  const isInput = (name: string): boolean => /^main\.(statement|sizes|W\d|b\d|x|hot|blind)(\[|$)/.test(name);
  const known = [...wires].filter(([name]) => isInput(name) || alsoKnown.test(name)).map(([, wire]) => wire);
  const free = new Set(undetermined(constraints, known));
  return [...wires].filter(([, wire]) => free.has(wire)).map(([name]) => name);
}

describe('inputs determine every wire', () => {
  it('with mse', async () => expect(await chosenFreely(circuitText(tiny))).toEqual([]));

  // Which of several equal maxima is selected does not matter; ι is the one quotient whose remainder is in range.
  it('with softmax, given the selected maximum and the quotient', async () => {
    expect(await chosenFreely(circuitText(softmax), /\.(isTop\[\d+\]|iota)$/)).toEqual([]);
  });
});

/** Circuits with one constraint less. Each must be told from the sound one. */
const weakened: readonly (readonly [name: string, from: string, to: string])[] = [
  ['bits that need not be bits', '    out[i] * (out[i] - 1) === 0;', ''],
  ['bits that need not sum up', '  sum === in;', '  sum * 0 === 0;'],
  ['a mask of the prover’s choice', '      inside[r][o] * (1 - M[r][o]) === 0;', ''],
];

describe('a circuit with one constraint less is caught', () => {
  it.each(weakened)('%s', async (_name, from, to) => {
    const text = circuitText(tiny);
    expect(text).toContain(from);
    expect((await chosenFreely(text.replace(from, to))).length).toBeGreaterThan(0);
  });

  it('labels that need not be one class', async () => {
    const text = circuitText(tiny).replace('    count === 1;', '');
    const honest = circuitInputs(tiny, witnessOf(tiny, 'honest'));
    const inputs = badInputs.map(([, change]) => changed(honest, change));
    const { witnesses: found } = await runTool({ op: 'witness', wasm: (await compiled(text)).wasm, inputs });
    const accepted = badInputs.filter((_, i) => found![i] !== null).map(([name]) => name);
    expect(accepted).toEqual(['two labels', 'no label']);
  });
});

it('a segment of more steps than one field element has bytes has no circuit', () => {
  expect(() => groth16Shape({ superblock: 32 })).toThrow('GROTH16_SHAPE');
});
