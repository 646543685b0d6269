/**
 * The compiled kernels. Arguments are byte offsets into one shared linear memory, counts and small numbers. Base
 * elements are canonical little-endian u64; extension elements are two of them, c0 then c1; arrays of extension
 * elements, tables and work areas start at multiples of 16 (Memory.allocate sees to it). Semantics, lengths and
 * overlaps are stated at each function in assembly/ and computed independently in reference/.
 */
import { MODULE_BASE64 } from './generated/kernels.js';
import { wasm, type WasmMemory, type WasmModule } from './wasm.js';

export type Offset = number;

export interface Kernels {
  // assembly/hashing.ts
  keccak256(message: Offset, bytes: number, out: Offset): void;
  hashLeaves(
    rows: Offset,
    rowCount: number,
    begin: number,
    end: number,
    header: number,
    aux: Offset,
    out: Offset,
  ): void;
  hashNodes(children: Offset, begin: number, end: number, digestBytes: number, out: Offset): void;
  prf(prefix: Offset, prefixBytes: number, count: number, out: Offset): void;
  counterHashes(prefix: Offset, prefixBytes: number, begin: number, end: number, out: Offset): void;
  grind(seed: Offset, begin: number, end: number, bits: number, out: Offset): void;

  // assembly/blake3-trees.ts
  blake3Leaves(
    key: Offset,
    rows: Offset,
    rowCount: number,
    begin: number,
    end: number,
    header: number,
    aux: Offset,
    out: Offset,
  ): void;
  blake3Nodes(key: Offset, children: Offset, begin: number, end: number, out: Offset): void;
  blake3Grind(key: Offset, seed: Offset, begin: number, end: number, bits: number, out: Offset): void;

  // assembly/ntt.ts
  rootTable(logSize: number, out: Offset): void;
  encodeRows(
    rows: Offset,
    random: Offset,
    randomCount: number,
    m: number,
    logDomain: number,
    rowBegin: number,
    rowEnd: number,
    coset: number,
    cosets: number,
    roots: Offset,
    out: Offset,
  ): void;

  // assembly/vector.ts
  sumArrays(a: Offset, b: Offset, count: number, out: Offset): void;
  differenceArrays(a: Offset, b: Offset, count: number, out: Offset): void;
  productBase(a: Offset, b: Offset, count: number, out: Offset): void;
  outerExt(a: Offset, begin: number, end: number, b: Offset, count: number, out: Offset): void;
  clear(count: number, out: Offset): void;
  addScaledExt(a: Offset, factor: Offset, count: number, out: Offset): void;
  powersExt(z: Offset, count: number, out: Offset): void;
  addPowers(y: Offset, factor: Offset, count: number, out: Offset): void;
  addReversed(s: Offset, real: Offset, imaginary: Offset, m: number, count: number, out: Offset): void;
  fromDoubles(a: Offset, count: number, out: Offset): void;

  // assembly/tensors.ts
  splitTensors(b: Offset, terms: number, count: number, out: Offset): void;
  addTensors(a: Offset, rows: Offset, terms: number, begin: number, end: number, count: number, out: Offset): void;

  // assembly/doubles.ts
  countSums(
    columns: Offset,
    coefficients: Offset,
    terms: number,
    begin: number,
    end: number,
    size: number,
    table: Offset,
  ): void;
  sumProducts(
    w: Offset,
    unitStride: number,
    inputStride: number,
    inputs: number,
    x: Offset,
    xStride: number,
    batch: number,
    begin: number,
    end: number,
    out: Offset,
    outStride: number,
  ): void;
  subtractOuter(
    a: Offset,
    aStride: number,
    begin: number,
    end: number,
    g: Offset,
    gStride: number,
    outputs: number,
    batch: number,
    factor: number,
    out: Offset,
    outStride: number,
  ): void;

  // assembly/sums.ts
  dotExt(a: Offset, b: Offset, count: number, out: Offset): void;
  bindBase(
    source: Offset,
    outerBegin: number,
    outerEnd: number,
    middle: number,
    inner: number,
    innerBegin: number,
    innerEnd: number,
    v: Offset,
    out: Offset,
  ): void;
  combineColumns(
    columns: Offset,
    coefficients: Offset,
    count: number,
    constant: Offset,
    begin: number,
    end: number,
    out: Offset,
  ): void;

  // assembly/sumcheck.ts
  eqTableExt(point: Offset, variables: number, scale: Offset, out: Offset): void;
  roundExt: WeightedRound;
  plainRoundExt(f: Offset, g: Offset, half: number, begin: number, end: number, out: Offset): void;
  roundFractions(
    a0: Offset,
    a1: Offset,
    b0: Offset,
    b1: Offset,
    half: number,
    high: Offset,
    low: Offset,
    logLow: number,
    begin: number,
    end: number,
    out: Offset,
  ): void;
  foldExt(f: Offset, half: number, r: Offset, begin: number, end: number, out: Offset): void;
  fractionLayer: FractionStep;
  fractionLeaves: FractionStep;
  fractionFactors(p: Offset, q: Offset, lambda: Offset, begin: number, end: number, a: Offset, b: Offset): void;

  // assembly/index.ts
  readonly heapBase: { readonly value: number };
  privateBytes(m: number): number;
  start(privateMemory: Offset): void;
}

type WeightedRound = (
  f: Offset,
  g: Offset,
  half: number,
  high: Offset,
  low: Offset,
  logLow: number,
  begin: number,
  end: number,
  out: Offset,
) => void;

type FractionStep = (
  p: Offset,
  q: Offset,
  half: number,
  begin: number,
  end: number,
  outP: Offset,
  outQ: Offset,
) => void;

/** Kernels that may run on any thread: they return nothing and report through memory. */
export const TASK_NAMES = [
  'hashLeaves',
  'hashNodes',
  'counterHashes',
  'grind',
  'blake3Leaves',
  'blake3Nodes',
  'encodeRows',
  'sumArrays',
  'differenceArrays',
  'productBase',
  'outerExt',
  'addScaledExt',
  'addTensors',
  'clear',
  'addPowers',
  'addReversed',
  'fromDoubles',
  'sumProducts',
  'subtractOuter',
  'dotExt',
  'bindBase',
  'combineColumns',
  'eqTableExt',
  'roundExt',
  'plainRoundExt',
  'roundFractions',
  'foldExt',
  'fractionLayer',
  'fractionLeaves',
  'fractionFactors',
] as const satisfies readonly (keyof Kernels)[];

type TaskName = (typeof TASK_NAMES)[number];

/** One kernel call that does not depend on the others it is handed in with. */
export type Task = readonly [name: TaskName, ...args: number[]];

export function compileKernels(): WasmModule {
  const text = atob(MODULE_BASE64);
  return new wasm.Module(Uint8Array.from(text, (character) => character.charCodeAt(0)));
}

export function instantiateKernels(module: WasmModule, memory: WasmMemory): Kernels {
  return new wasm.Instance(module, { env: { memory } }).exports as Kernels;
}

export function runTask(kernels: Kernels, task: Task): void {
  const [name, ...args] = task;
  (kernels[name] as (...values: number[]) => void)(...args);
}
