/** Random numbers of a seed, for data that is made. */
import { below, wordStream } from '#libs/step';

export interface Random {
  /** A whole number from 0 to n − 1. */
  below(n: number): number;
  /** A number from `from` to `to`. */
  between(from: number, to: number): number;
  /** About normal, of mean 0 and deviation 1: a sum of twelve. */
  normal(): number;
  of<T>(values: readonly T[]): T;
}

const seed = `0x${'7e'.repeat(32)}`;
const parts = 1 << 24;

/** @param name tells streams apart */
export function randomOf(name: string): Random {
  const word = wordStream(`veritrain/example/${name}`, seed);
  let at = 0;
  const drawn = (n: number): number => Number(below(word(at++), BigInt(n)));
  const share = (): number => drawn(parts) / parts;
  return {
    below: drawn,
    between: (from, to) => from + (to - from) * share(),
    normal: () => Array.from({ length: 12 }, share).reduce((sum, one) => sum + one, -6),
    of: (values) => values[drawn(values.length)]!,
  };
}
