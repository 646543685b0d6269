import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { poll, retry, within } from './wait.js';

describe('within', () => {
  it('gives what comes in time, and nothing when it does not', async () => {
    expect(await within(10_000, Promise.resolve('here'))).toBe('here');
    expect(await within(5, new Promise(() => undefined))).toBe(undefined);
    await expect(within(10_000, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  });
});

describe('poll', () => {
  it('looks until there is something', async () => {
    let looks = 0;
    const look = () => Promise.resolve(++looks === 3 ? 'found' : null);
    expect(await poll(look, { everyMs: 1, withinMs: 10_000 })).toBe('found');
    expect(looks).toBe(3);
  });

  it('ends with its time, or with its use', async () => {
    const never = () => Promise.resolve(null);
    expect(await poll(never, { everyMs: 1, withinMs: 10 })).toBe(null);
    let looks = 0;
    expect(await poll(never, { everyMs: 1, withinMs: 10_000, goesOn: () => ++looks < 3 })).toBe(null);
    expect(looks).toBe(3);
  });
});

describe('retry', () => {
  function failing(times: number) {
    const begun: number[] = [];
    const ask = () => {
      begun.push(performance.now());
      return begun.length > times ? Promise.resolve('done') : Promise.reject(new Error(`failure ${begun.length}`));
    };
    return { begun, ask };
  }

  it('asks again after pauses that double', async () => {
    const { begun, ask } = failing(2);
    let pauses = 0;
    expect(await retry(ask, { attempts: 3, firstPauseMs: 20, beforePause: () => void (pauses += 1) })).toBe('done');
    expect(pauses).toBe(2);
    // Node's timers may end a millisecond early.
    expect(begun[1]! - begun[0]!).toBeGreaterThanOrEqual(19);
    expect(begun[2]! - begun[1]!).toBeGreaterThanOrEqual(39);
  });

  it('throws the last failure when the attempts are spent', async () => {
    const { begun, ask } = failing(9);
    await expect(retry(ask, { attempts: 3, firstPauseMs: 1 })).rejects.toThrow('failure 3');
    expect(begun).toHaveLength(3);
  });

  it('throws at once what another attempt does not help', async () => {
    const { begun, ask } = failing(9);
    await expect(retry(ask, { attempts: 3, firstPauseMs: 1, isWorthAgain: () => false })).rejects.toThrow('failure 1');
    expect(begun).toHaveLength(1);
  });

  it('ends a pause when it is aborted, with the last failure', async () => {
    const { begun, ask } = failing(9);
    const abort = new AbortController();
    const answer = retry(ask, { attempts: 9, firstPauseMs: 60_000, signal: abort.signal });
    void sleep(10).then(() => abort.abort());
    await expect(answer).rejects.toThrow('failure 1');
    expect(begun).toHaveLength(1);
  });
});
