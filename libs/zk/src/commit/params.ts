/**
 * Every parameter of the argument in one struct, and the profiles a verifier accepts by name (libs/zk/SPEC.md §12).
 * The soundness of a profile at a shape is computed in soundness.ts; a plan below 100 bits is refused.
 */
import type { TreeHash } from './hash.js';
import { refuse } from './layout/refuse.js';

/** A level of the opening behind level 1 (libs/zk/SPEC.md §9.4): as the parameters of level 1 in a profile. */
export interface DeeperLevel {
  /** Row variables folded: of the 2^n elements that the level before left it commits 2^k rows of 2^{n−k}. */
  readonly k: number;
  readonly logBlowup: number;
  readonly multiplicity: number;
  readonly queries: number;
  readonly grind: number;
  readonly grindFold: number;
}

export interface Profile extends TreeHash {
  readonly name: string;
  readonly version: 1 | 2;
  /** Challenge field: the quadratic or the cubic extension of Goldilocks. Version 1 computes in the quadratic one. */
  readonly extensionDegree: 2 | 3;
  /** Points outside the domain at which a committed tree is evaluated; with `deeper` levels, their vectors as well. */
  readonly oodPoints: 1 | 2;
  /** A row has 2^m data coefficients and a codeword of 2^{m+logBlowup} symbols. */
  readonly m: number;
  readonly logBlowup: number;
  /** Level-1 rows that hold the folded random coefficients; every row has t = randomRows·2^{m−k1} of them. */
  readonly randomRows: number;
  /** Row variables folded at level 1, and the code of its 2^{m−k1} columns. */
  readonly k1: number;
  readonly logBlowup1: number;
  /** Multiplicities of the Johnson-bound analysis. */
  readonly multiplicity: number;
  readonly multiplicity1: number;
  readonly queries0: number;
  readonly queries1: number;
  /** Grinding bits before queries, before row-round challenges and before level-1 row-round challenges. */
  readonly grind0: number;
  readonly grind1: number;
  readonly grindFold: number;
  readonly grindFold1: number;
  /** X stands as [i,t,b]: its rows hold inputs of all steps, and those of inputs that the net does not have are left out. */
  readonly inputsFirst?: boolean;
  /** Levels behind the first; what the last one leaves goes in the clear. */
  readonly deeper?: readonly DeeperLevel[];
  /** Steps that one proof covers where that is more than a superblock: segments with borders between (libs/zk/SPEC.md §20). */
  readonly unitSteps?: number;
}

const common = {
  version: 1,
  extensionDegree: 2,
  oodPoints: 1,
  grind0: 18,
  grind1: 18,
  grindFold: 14,
  grindFold1: 10,
  hash: 'keccak',
  digestBytes: 32,
} as const;

/** Random coefficients per row, t. */
export function randomPerRow(profile: Profile): number {
  return profile.randomRows * 2 ** (profile.m - profile.k1);
}

/**
 * Proofs that may open one commitment before its owner must commit again (libs/zk/SPEC.md §13.5); strictly below t
 * symbols.
 */
export function openingBudget(profile: Profile): number {
  return Math.floor((randomPerRow(profile) - 1) / profile.queries0);
}

/**
 * Raised by whoever changes what a message of the prover is, their order, or how nonces are found: then no pad of before is
 * used again, and a proof that is made again opens other places.
 */
export const proverCodeVersion = 1;

/** What profiles of an opening with more levels than one share. */
const levelled = {
  ...common,
  oodPoints: 2,
  inputsFirst: true,
  logBlowup: 5,
  randomRows: 1,
  k1: 4,
  logBlowup1: 8,
  multiplicity: 5,
  multiplicity1: 1,
  grind0: 22,
  grind1: 22,
  digestBytes: 26,
} as const;

const chain16 = {
  ...common,
  name: 'chain16',
  m: 14,
  logBlowup: 5,
  randomRows: 1,
  k1: 5,
  logBlowup1: 6,
  multiplicity: 3,
  multiplicity1: 3,
  queries0: 37,
  queries1: 30,
} satisfies Profile;

/** Sixty-four steps in one transaction: rows of 2^16 cells would leave a level-1 vector of 64 KB in the clear. */
const chain64 = {
  ...levelled,
  name: 'chain64',
  m: 16,
  queries0: 34,
  queries1: 23,
  grindFold: 20,
  grindFold1: 14,
  deeper: [{ k: 4, logBlowup: 10, multiplicity: 1, queries: 18, grind: 22, grindFold: 14 }],
} satisfies Profile;

/** A thousand and twenty-four steps as segments of as many as the net has no wrap in, with the whole data set. */
const unit1024 = {
  ...levelled,
  name: 'unit1024',
  m: 20,
  logBlowup: 4,
  logBlowup1: 6,
  multiplicity: 5,
  multiplicity1: 4,
  queries0: 43,
  queries1: 28,
  grindFold: 22,
  grindFold1: 18,
  deeper: [
    { k: 4, logBlowup: 11, multiplicity: 1, queries: 16, grind: 22, grindFold: 18 },
    { k: 4, logBlowup: 13, multiplicity: 1, queries: 14, grind: 22, grindFold: 18 },
  ],
  unitSteps: 1024,
} satisfies Profile;

const table: readonly Profile[] = [
  {
    ...common,
    name: 'chain1',
    m: 13,
    logBlowup: 5,
    randomRows: 1,
    k1: 4,
    logBlowup1: 6,
    multiplicity: 4,
    multiplicity1: 3,
    queries0: 36,
    queries1: 30,
  },
  chain16,
  // In one transaction: sixteen steps stay below the 128 KB that mempools carry.
  { ...chain16, name: 'chain26', digestBytes: 26 },
  chain64,
  {
    // A hundred and twenty-eight steps in one transaction. (`chain128` is named for its bits.)
    ...levelled,
    name: 'steps128',
    m: 17,
    queries0: 34,
    queries1: 23,
    grindFold: 22,
    grindFold1: 16,
    deeper: [{ k: 5, logBlowup: 11, multiplicity: 1, queries: 16, grind: 22, grindFold: 16 }],
  },
  {
    // Two hundred and fifty-six steps, in three levels: part of a proof has room in one transaction, the rest in another.
    ...levelled,
    name: 'chain256',
    m: 18,
    logBlowup: 4,
    logBlowup1: 7,
    multiplicity: 9,
    multiplicity1: 2,
    queries0: 42,
    queries1: 25,
    grindFold: 22,
    grindFold1: 16,
    deeper: [
      { k: 4, logBlowup: 10, multiplicity: 1, queries: 18, grind: 22, grindFold: 16 },
      { k: 3, logBlowup: 11, multiplicity: 2, queries: 16, grind: 22, grindFold: 16 },
    ],
  },
  // Sixty-four steps in shorter segments, with the whole of a data set of as many batches.
  { ...chain64, name: 'unit64', unitSteps: 64 },
  unit1024,
  {
    // For a prover of 3.5 GiB: with it a WebAssembly memory is as full as it gets.
    ...unit1024,
    name: 'unit2048',
    m: 21,
    k1: 5,
    logBlowup1: 7,
    multiplicity: 6,
    multiplicity1: 3,
    queries0: 42,
    queries1: 24,
    grindFold1: 19,
    deeper: unit1024.deeper.map((level) => ({ ...level, grindFold: 19 })),
    unitSteps: 2048,
  },
  {
    // With a hundred bits in the sum over a proof of sixty-four steps.
    ...chain64,
    name: 'sum100',
    queries0: 35,
    queries1: 24,
    grindFold: 24,
    grindFold1: 17,
    deeper: [{ k: 4, logBlowup: 10, multiplicity: 1, queries: 19, grind: 22, grindFold: 17 }],
  },
  {
    ...common,
    name: 'fast16',
    m: 14,
    logBlowup: 2,
    randomRows: 2,
    k1: 5,
    logBlowup1: 5,
    multiplicity: 10,
    multiplicity1: 4,
    queries0: 94,
    queries1: 36,
  },
  {
    // Up to 2^19 cells, where grinding costs more than queries: a fifth of the hashing of fast16.
    ...common,
    name: 'small',
    m: 12,
    logBlowup: 3,
    randomRows: 3,
    k1: 4,
    logBlowup1: 4,
    multiplicity: 4,
    multiplicity1: 5,
    queries0: 76,
    queries1: 50,
    grind0: 10,
    grind1: 8,
    grindFold: 8,
    grindFold1: 7,
  },
  {
    ...common,
    name: 'fast64',
    m: 15,
    logBlowup: 2,
    randomRows: 2,
    k1: 5,
    logBlowup1: 6,
    multiplicity: 5,
    multiplicity1: 2,
    queries0: 101,
    queries1: 31,
    grindFold: 15,
  },
  {
    // Half the code of fast64 in rows of twice the length: proving takes less, and a proof a third more bytes.
    ...common,
    name: 'fast64-blake3',
    hash: 'blake3',
    oodPoints: 2,
    inputsFirst: true,
    m: 16,
    logBlowup: 1,
    randomRows: 2,
    k1: 5,
    logBlowup1: 3,
    multiplicity: 14,
    multiplicity1: 5,
    queries0: 200,
    queries1: 60,
    grind0: 19,
    grind1: 19,
    grindFold: 16,
  },
  {
    // Beyond 2^22 committed elements per tree.
    ...common,
    name: 'large',
    oodPoints: 2,
    m: 16,
    logBlowup: 2,
    randomRows: 2,
    k1: 6,
    logBlowup1: 6,
    multiplicity: 5,
    multiplicity1: 2,
    queries0: 99,
    queries1: 31,
    grindFold: 16,
  },
  {
    // 128 bits in every round. Its field is not implemented: `profileNamed` refuses it.
    ...common,
    name: 'chain128',
    version: 2,
    extensionDegree: 3,
    m: 13,
    logBlowup: 5,
    randomRows: 1,
    k1: 4,
    logBlowup1: 8,
    multiplicity: 100,
    multiplicity1: 60,
    queries0: 45,
    queries1: 28,
    grindFold: 0,
    grindFold1: 0,
  },
];

/** Where no contract looks, on BLAKE3: a leaf takes half the time of keccak-256, a node and a nonce a fifth. */
const offChain = ['small', 'fast16', 'large'].map((name): Profile => {
  const profile = table.find((other) => other.name === name)!;
  return { ...profile, name: `${name}-blake3`, hash: 'blake3', inputsFirst: true };
});

/** The only parameter sets that a proof may name. */
export const profiles: ReadonlyMap<string, Profile> = new Map(
  [...table, ...offChain].map((profile) => [profile.name, profile]),
);

/** @throws Rejection STEP_PLAN for an unknown name, STEP_EXTENSION as `requireImplemented` */
export function profileNamed(name: string): Profile {
  const profile = profiles.get(name);
  if (profile === undefined) {
    return refuse('STEP_PLAN', `one of ${[...profiles.keys()].join(', ')}`, name.slice(0, 40), 'libs/zk/SPEC.md §12');
  }
  return requireImplemented(profile);
}

/** @throws Rejection STEP_EXTENSION for a profile over a field that is not implemented */
export function requireImplemented(profile: Profile): Profile {
  const { extensionDegree, name } = profile;
  if (extensionDegree === 2) return profile;
  return refuse(
    'STEP_EXTENSION',
    'the quadratic extension',
    `${name}: degree ${extensionDegree}`,
    'libs/zk/SPEC.md §12',
  );
}
