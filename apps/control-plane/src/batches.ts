/** Work that is done together: what is asked for while an earlier round runs makes up the next round. */
import { Injectable } from '@nestjs/common';

/** What became of one item of a round. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown };

export interface BatchLimits {
  /** Items of one round. */
  readonly size: number;
  /** Rounds that run at once. */
  readonly rounds: number;
}

/** @returns one outcome for each item, in their order; a rejection is the outcome of every one of them */
export type Round<I, O> = (items: readonly I[]) => Promise<readonly Outcome<O>[]>;

interface Waiting<I, O> {
  readonly item: I;
  readonly resolve: (value: O) => void;
  readonly reject: (error: unknown) => void;
}

@Injectable()
export class Batches {
  /** @returns a function that has its argument done in the next round */
  make<I, O>({ size, rounds }: BatchLimits, round: Round<I, O>): (item: I) => Promise<O> {
    const waiting: Waiting<I, O>[] = [];
    let running = 0;
    const run = async (): Promise<void> => {
      running += 1;
      // What the same turn of the event loop still brings belongs to this round.
      await new Promise((resolve) => setImmediate(resolve));
      while (waiting.length > 0) await settle(waiting.splice(0, size), round);
      running -= 1;
    };
    return (item) =>
      new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        if (running < rounds) void run();
      });
  }
}

async function settle<I, O>(members: readonly Waiting<I, O>[], round: Round<I, O>): Promise<void> {
  try {
    const outcomes = await round(members.map(({ item }) => item));
    members.forEach(({ resolve, reject }, index) => {
      const outcome = outcomes[index]!;
      if ('value' in outcome) resolve(outcome.value);
      else reject(outcome.error);
    });
  } catch (error) {
    for (const { reject } of members) reject(error);
  }
}
