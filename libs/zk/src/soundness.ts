/**
 * Provable soundness of a profile at a shape, term by term (libs/zk/SPEC.md §12): Johnson-bound proximity gaps only.
 * Bits are −log2 of the error of one round; `sumBits` is that of the union over one whole proof.
 */
import { randomPerRow, type Profile } from './commit/params.js';
import { levelsOf, type Level } from './relation/levels.js';
import { tableVars } from './relation/lookups.js';

/** What the terms need to know about a shape; part of the plan. */
export interface ShapeCounts {
  /** lg of the lookup vector and of the global hypercube. */
  readonly lookupVars: number;
  readonly globalVars: number;
  /** Stored rows per committed tree. */
  readonly rowsPerTree: readonly number[];
  readonly constraints: number;
  readonly maskedRounds: number;
  /** Most terms that one batching challenge combines. */
  readonly batchedTerms: number;
  /** lg of the number of product slots. */
  readonly productVars: number;
}

export interface SoundnessTerm {
  readonly step: string;
  readonly bits: number;
  /** How many times the error occurs in one proof. */
  readonly count: number;
}

export interface Soundness {
  readonly terms: readonly SoundnessTerm[];
  /** The weakest single round. */
  readonly minBits: number;
  /** Union over all rounds of one proof. */
  readonly sumBits: number;
}

export const soundnessBitsMin = 100;

const baseBits = Math.log2(2 ** 64 - 2 ** 32 + 1);

interface CodeTerms {
  /** 1 − δ, the agreement that a query survives with. */
  readonly agreement: number;
  /** List size at that radius. */
  readonly list: number;
  /** Bits of the line error at code length n (BCHKS 2025, Theorem 4.2). */
  lineBits(n: number): number;
}

function johnson(rate: number, multiplicity: number, fieldBits: number): CodeTerms {
  const half = multiplicity + 0.5;
  const agreement = Math.sqrt(rate) * (1 + 1 / (2 * multiplicity));
  const list = half / Math.sqrt(rate);
  return {
    agreement,
    list,
    lineBits: (n) => {
      const linear = (2 * half ** 5 + 3 * half * (1 - agreement) * rate) / (3 * rate ** 1.5);
      return fieldBits - Math.log2(linear * n + list);
    },
  };
}

/** Every term of one proof. */
export function soundness(profile: Profile, counts: ShapeCounts): Soundness {
  const { m, logBlowup, randomRows, k1, multiplicity } = profile;
  const { queries0, grind0, grindFold, extensionDegree, oodPoints } = profile;
  const { lookupVars, globalVars, rowsPerTree, constraints, maskedRounds, batchedTerms, productVars } = counts;
  const rowVars = globalVars - m;
  const fieldBits = extensionDegree * baseBits;
  const code = johnson((2 ** m + randomPerRow(profile)) / 2 ** (m + logBlowup), multiplicity, fieldBits);
  const levels = levelsOf(profile);
  const last = levels.at(-1)!;
  const fraction = (numerator: number): number => fieldBits - Math.log2(numerator);
  const terms: SoundnessTerm[] = [
    ...rowsPerTree.map((rows, i) => ({
      step: `commitment out-of-domain, tree ${i}`,
      bits: oodPoints * fraction(rows * 2 ** m) - Math.log2(code.list ** 2 / 2),
      count: 1,
    })),
    { step: 'linear facts at the leaf point', bits: fraction(lookupVars), count: 1 },
    { step: 'lookup challenges', bits: fraction(4 * 2 ** lookupVars - 3 * 2 ** tableVars), count: 1 },
    { step: 'masked sumcheck round', bits: fraction(2), count: maskedRounds },
    {
      step: 'batching of terms and constraints',
      bits: fraction(Math.max(constraints, batchedTerms)),
      count: 2 * lookupVars + 5,
    },
    { step: 'pad product point', bits: fraction(2 * productVars), count: 1 },
    {
      step: 'row rounds and δ, proximity',
      bits: code.lineBits(2 ** (m + logBlowup + Math.max(rowVars - 1, 0))) + grindFold,
      count: rowVars + 1,
    },
    { step: 'row rounds and δ, special rows', bits: fraction(2 * code.list), count: rowVars + 1 },
    { step: 'queries 0', bits: -Math.log2(code.agreement) * queries0 + grind0, count: 1 },
    ...levels.flatMap((level, i) => {
      const values = i === 0 ? 2 * queries0 : levels[i - 1]!.queries;
      return levelTerms(level, i + 1, values, fieldBits);
    }),
    {
      step: `β${levels.length + 1} and column rounds`,
      bits: fraction(Math.max(last.queries + 1, 2)),
      count: last.columnVars + 1,
    },
  ];
  if (randomRows + 1 > 2 ** k1) throw new RangeError('level 1 has no room for its random and strip rows');
  return {
    terms,
    minBits: Math.min(...terms.map((term) => term.bits)),
    sumBits: -Math.log2(terms.reduce((sum, term) => sum + term.count * 2 ** -term.bits, 0)),
  };
}

/** @param values how many values of the level before its β combines with those outside the domain */
function levelTerms(level: Level, number: number, values: number, fieldBits: number): SoundnessTerm[] {
  const { rowVars, columnVars, logBlowup, multiplicity, queries, grind, grindFold, points } = level;
  const code = johnson(2 ** -logBlowup, multiplicity, fieldBits);
  const fraction = (numerator: number): number => fieldBits - Math.log2(numerator);
  const name = `level-${number}`;
  return [
    {
      step: `${name} out-of-domain`,
      bits: points * fraction(2 ** (rowVars + columnVars)) - Math.log2(code.list ** 2 / 2),
      count: 1,
    },
    { step: `β${number}`, bits: fraction(code.list * (values + 2)), count: 1 },
    {
      step: `${name} row rounds, proximity`,
      bits: code.lineBits(2 ** (columnVars + logBlowup + rowVars - 1)) + grindFold,
      count: rowVars,
    },
    { step: `${name} row rounds, sumcheck`, bits: fraction(2 * code.list), count: rowVars },
    { step: `queries ${number}`, bits: -Math.log2(code.agreement) * queries + grind, count: 1 },
  ];
}
