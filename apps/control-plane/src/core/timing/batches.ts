/**
 * Work that is done together: what is asked for while an earlier round runs, or shortly after it began, makes up the next
 * round. Nobody waits who comes alone, and under load a statement serves many.
 */
import { Injectable } from '@nestjs/common';

/** What became of one item of a round. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown };

export interface BatchLimits {
  /** Items of one round. */
  readonly size: number;
  /** Rounds that run at once. */
  readonly rounds: number;
  /** From the start of one round to that of the next, unless that one is full; 0 when absent. */
  readonly apartMilliseconds?: number;
}

/** Apart for rounds of a few statements: short beside what they take under load. */
export const apartMilliseconds = 20;

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
  make<I, O>({ size, rounds, apartMilliseconds = 0 }: BatchLimits, round: Round<I, O>): (item: I) => Promise<O> {
    const waiting: Waiting<I, O>[] = [];
    let running = 0;
    let began = -Infinity;
    let timer: NodeJS.Timeout | undefined;
    const run = async (): Promise<void> => {
      clearTimeout(timer);
      timer = undefined;
      running += 1;
      began = performance.now();
      // What the same turn of the event loop still brings belongs to this round.
      await new Promise((resolve) => setImmediate(resolve));
      if (waiting.length > 0) await settle(waiting.splice(0, size), round);
      running -= 1;
      next();
    };
    const next = (): void => {
      if (waiting.length === 0 || running === rounds) return;
      const early = waiting.length < size ? began + apartMilliseconds - performance.now() : 0;
      if (early > 0) timer ??= setTimeout(() => ((timer = undefined), next()), early);
      else void run();
    };
    return (item) =>
      new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        next();
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
