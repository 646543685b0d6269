/**
 * What one proof of a plan costs its prover and whoever sends it to the contract. Models that met
 * measured proofs of 784-64-10 (proof-cost.test.ts): figures to decide by, not promises.
 */
import type { Manifest } from '#libs/step';
import { isInTwoParts, levelsOf, type Plan } from '#libs/zk/verifier';
import { expectedProofBytes, fitsTransaction } from './proof-size.js';

interface ProofCost {
  readonly proofBytes: number;
  /** Of one core. */
  readonly cpuSeconds: number;
  /** Most linear memory of the prover. */
  readonly memoryBytes: number;
  /** That discharge a duty with it; `gas` is that of all. Absent where no contract takes the proof. */
  readonly transactions?: number;
  readonly gas?: number;
}

/** Seconds on one core of an AMD EPYC: a block of a hash, a symbol of a codeword, a cell in sumchecks and folds. */
const seconds = { block: { keccak: 2.1e-7, blake3: 6e-8 }, symbol: 1.5e-8, cell: 2.5e-7 };
const blockBytes = { keccak: 136, blake3: 64 };
const wordBytes = 8;
/** Header, special symbols and padding of a leaf. */
const leafOverhead = 64;
/** Bytes of an element of the extension. */
const element = 16;
/** What a prover keeps in linear memory (libs/zk/SPEC.md §14). */
const memory = {
  fixed: 4 * 2 ** 20,
  /** Per element of a row: private to a thread, of which a machine like the measured ones has two, roots and masks. */
  perRowElement: 2 * 32 + 4 + 96,
  specialRows: 6,
  keptCodewords: { bytes: 2 ** 28, logBlowup: 3 },
  perLeaf: 1,
  leavesAtOnce: 2 ** 14,
  nodeParts: 5 * 2 ** 20,
  tables: 2 * 2 ** 20,
  /** Under a profile that keeps codewords: Ω and w folded less, and Ω itself, where they take no more. */
  folded: 2 ** 26,
  keptOmega: 2 ** 27,
};
/** Of the transaction that carries a proof alone, calldata at today's price. */
const gas = { fixed: 798_000, perByte: 39.4, perSymbol: 116, perLevel: 452_000, ofUnit: 720_000, perRate: 1_300 };
/**
 * Of each segment of a unit and layer, in the tables of its borders; half as much again where memory for 2,048 segments has to
 * be paid. As `reduce` of the unit relations took it: 20 k a segment of two layers, 34 k of three, 88 to 118 k of eight.
 */
const perSegment = { gas: 10_000, dearerBy: 4096 };
/** Of a table with a word a step, which each sum over steps of other sizes needs: 5 a layer but one. */
const gasPerTabledStep = 1_400;
/**
 * Of one that is drawn, in the discharge of a drawn segment: up to 4,000 are hashed anew, each in memory of its own, behind a
 * seal of 117,000 bytes (contracts/test/sample-gas.test.ts).
 */
const gasPerSample = 550;
/** A transaction has 16.78 M. */
const transactionGasMax = 16_000_000;

/** What makes a proof dearer than its plan says. */
interface Rates {
  /** Segments of it whose steps have several sizes (`unevenSegments`). */
  readonly uneven?: number;
  /** Entries of the schedule, which stand in every seal. */
  readonly rates?: number;
  /** That the terms have drawn. */
  readonly samples?: number;
}

export function proofCost(plan: Plan, { uneven = 0, rates = 1, samples = 0 }: Rates = {}): ProofCost {
  const proofBytes = expectedProofBytes(plan);
  const gasOfSample = samples * gasPerSample;
  const gasOfProof = gasOf(plan, proofBytes) + uneven * gasOfTables(plan) + rates * gas.perRate;
  // Of a proof in two parts the discharge is a transaction of its own.
  const atOnce = isInTwoParts(plan.profile) ? Math.max(gasOfProof, gasOfSample) : gasOfProof + gasOfSample;
  const isOnChain = fitsTransaction(plan, rates) && isOnChainProfile(plan) && atOnce <= transactionGasMax;
  return {
    ...{ proofBytes, cpuSeconds: cpuSecondsOf(plan), memoryBytes: memoryOf(plan) },
    ...(isOnChain && { transactions: isInTwoParts(plan.profile) ? 3 : 1, gas: gasOfProof + gasOfSample }),
  };
}

/** Segments whose steps have several sizes: the rate changes within them, or the job ends there. */
export function unevenSegments({ steps, superblock, optimizer }: Manifest): number {
  const changes = [...optimizer.m.map(([from]) => from).filter((from) => from < steps), steps];
  return new Set(changes.filter((step) => step % superblock !== 0).map((step) => Math.floor(step / superblock))).size;
}

/** Of the dearest proof that a job of this manifest has under the plan. @param samples that its terms have drawn */
export function dearestProofCost(manifest: Manifest, plan: Plan, samples = 0): ProofCost {
  const uneven = Math.min(unevenSegments(manifest), 2 ** plan.shape.segmentVars);
  return proofCost(plan, { uneven, rates: manifest.optimizer.m.length, samples });
}

/**
 * Of all proofs of a job.
 *
 * @param proofs how many segments or units are proved
 * @returns undefined where the contract takes not every one
 */
export function gasOfJob(manifest: Manifest, plan: Plan, proofs: number): number | undefined {
  if (dearestProofCost(manifest, plan).gas === undefined) return undefined;
  const { gas } = proofCost(plan, { rates: manifest.optimizer.m.length });
  const uneven = Math.min(proofs * 2 ** plan.shape.segmentVars, unevenSegments(manifest));
  return proofs * gas! + uneven * gasOfTables(plan);
}

/** The contracts' floor has profiles of one point with one level, and of two and three (contracts/src/verifiers/zk/ZkFloor.sol). */
function isOnChainProfile({ profile: { hash, oodPoints, deeper } }: Plan): boolean {
  return hash === 'keccak' && (deeper !== undefined || oodPoints === 1);
}

const treesOf = ({ trees }: Plan): readonly { readonly rows: number; readonly hasAux: boolean }[] =>
  Object.values(trees).map(({ globalRows, hasAux }) => ({ rows: globalRows.length, hasAux }));

function cpuSecondsOf(plan: Plan): number {
  const { profile, vars, rowVars } = plan;
  const block = seconds.block[profile.hash];
  const symbols = 2 ** (profile.m + profile.logBlowup);
  const perSymbol = treesOf(plan).map(({ rows }) => {
    const blocks = Math.ceil((rows * wordBytes + leafOverhead) / blockBytes[profile.hash]);
    return rows * seconds.symbol + (blocks + 1) * block;
  });
  const ground = 2 ** profile.grind0 + (rowVars + 1) * 2 ** profile.grindFold;
  const inLevels = levelsOf(profile).reduce((sum, l) => sum + 2 ** l.grind + l.rowVars * 2 ** l.grindFold, 0);
  return (
    symbols * perSymbol.reduce((sum, one) => sum + one, 0) + 2 ** vars * seconds.cell + (ground + inLevels) * block
  );
}

function memoryOf(plan: Plan): number {
  const { profile, shape, lookups } = plan;
  const { m, logBlowup, k1, randomRows } = profile;
  const length = 2 ** m;
  const trees = Object.entries(plan.trees).map(([tree, { globalRows }]) => {
    return globalRows.length + (tree === 'S' ? memory.specialRows : 0);
  });
  const rows = 1 + Math.max(...Object.values(plan.trees).flatMap(({ globalRows }) => globalRows));
  const hidden = shape.widths.slice(1, -1).reduce((sum, width) => sum + 3 * width, 0);
  const classes = shape.widths.at(-1)!;
  const read = shape.segmentVars > 0 ? classes : 0;
  const virtual = shape.steps * shape.samples * (hidden + 2 * classes + 2 + read);
  const kept = trees.map((own) => {
    const codewords = wordBytes * own * length * 2 ** logBlowup;
    const isKept = logBlowup <= memory.keptCodewords.logBlowup && codewords <= memory.keptCodewords.bytes;
    const random = wordBytes * own * randomRows * 2 ** (m - k1);
    return (isKept ? codewords : 0) + random + memory.perLeaf * length * 2 ** logBlowup;
  });
  const atOnce = Math.max(length, memory.leavesAtOnce);
  const hashing = (wordBytes * Math.max(...trees) + 3 * 32) * atOnce;
  const nodes = element * 2 ** lookups.vars;
  const lookedUp = Math.max(nodes + memory.nodeParts, (lookups.plainLow ? 1 : 2) * nodes + memory.tables);
  const isFast = logBlowup <= memory.keptCodewords.logBlowup;
  const after = (vars: number): number => 2 * element * length * 2 ** Math.max(0, plan.rowVars - vars);
  const bound = (isFast ? [after(2), after(3)].find((bytes) => bytes <= memory.folded) : undefined) ?? after(4);
  const omega = element * length * 2 ** plan.rowVars;
  const folded = bound + (isFast && omega <= memory.keptOmega ? omega : 0) + 8 * element * length;
  return (
    memory.fixed +
    memory.perRowElement * length +
    wordBytes * (rows * length + virtual) +
    kept.reduce((sum, one) => sum + one, 0) +
    Math.max(hashing, lookedUp, folded)
  );
}

function gasOf(plan: Plan, proofBytes: number): number {
  const rows = treesOf(plan).reduce((sum, tree) => sum + tree.rows, 0);
  const levels = plan.profile.deeper?.length ?? 0;
  const { fixed, perByte, perSymbol, perLevel, ofUnit } = gas;
  const constant = fixed + perLevel * levels + (plan.shape.segmentVars > 0 ? ofUnit + gasOfSegments(plan) : 0);
  return Math.round(constant + perByte * proofBytes + perSymbol * plan.profile.queries0 * rows);
}

function gasOfSegments({ shape }: Plan): number {
  const segments = 2 ** shape.segmentVars;
  return perSegment.gas * shape.layers.length * segments * (1 + segments / perSegment.dearerBy);
}

/** Of one segment. */
function gasOfTables({ shape }: Plan): number {
  return gasPerTabledStep * 2 ** (shape.stepVars - shape.segmentVars) * (5 * shape.layers.length - 1);
}
