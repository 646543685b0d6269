/** The levels of the opening that a profile names (libs/zk/SPEC.md §9): which vector each commits to, and how. */
import type { DeeperLevel, Profile } from '../commit/params.js';

export const levelTrees = ['L1', 'L2', 'L3'] as const;
export type LevelTree = (typeof levelTrees)[number];

export interface Level extends Omit<DeeperLevel, 'k'> {
  readonly tree: LevelTree;
  /** The vector has 2^rowVars rows of 2^columnVars elements; the first `rows` of them are committed, the others are zero. */
  readonly rowVars: number;
  readonly columnVars: number;
  readonly rows: number;
  /** Points outside the domain. */
  readonly points: number;
}

/** Level 1 first. */
export function levelsOf(profile: Profile): readonly Level[] {
  const { m, k1, logBlowup1, multiplicity1, queries1, grind1, grindFold1, randomRows, oodPoints } = profile;
  const deeper = profile.deeper ?? [];
  const points = deeper.length === 0 ? 1 : oodPoints;
  const levels: Level[] = [
    {
      ...{ tree: levelTrees[0], rowVars: k1 + 1, columnVars: m - k1, rows: 2 ** k1 + randomRows + 1, points },
      ...{
        logBlowup: logBlowup1,
        multiplicity: multiplicity1,
        queries: queries1,
        grind: grind1,
        grindFold: grindFold1,
      },
    },
  ];
  for (const { k, ...code } of deeper) {
    const columnVars = levels.at(-1)!.columnVars - k;
    levels.push({ ...code, tree: levelTrees[levels.length]!, rowVars: k, columnVars, rows: 2 ** k, points });
  }
  return levels;
}
