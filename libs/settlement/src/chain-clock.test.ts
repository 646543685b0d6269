/** What a head may say of the time: of chains that are off, nodes that catch up, and heads that lie. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ChainClock } from './chain-clock.js';

const hour = 3600;
const began = 1_800_000_000;
const perBlock = 12;
/** Seconds of this machine since the test began. */
let passed: number;
let clock: ChainClock;
beforeEach(() => {
  passed = 0;
  clock = new ChainClock();
  vi.spyOn(performance, 'now').mockImplementation(() => 1000 * passed);
  vi.spyOn(Date, 'now').mockImplementation(() => 1000 * (began + passed));
});
afterEach(() => void vi.restoreAllMocks());

/** Of a chain whose time is `ahead` of the wall. */
function headOf(ahead: number) {
  const height = Math.floor(passed / perBlock);
  return { number: 1000 + height, timestamp: began + ahead + perBlock * height };
}

const wall = (): number => began + passed;
type Head = ReturnType<typeof headOf>;

/** Looks every second. @returns what the last one gave */
function looks(seconds: number, head: () => Head) {
  let time = clock.at(head());
  for (let look = 0; look < seconds; look++) {
    passed += 1;
    time = clock.at(head());
  }
  return time;
}

describe.each([
  ['hours behind', -3 * hour],
  ['as the wall', 0],
  ['hours ahead', 3 * hour],
])('a chain whose time is %s', (_, ahead) => {
  const honest = () => headOf(ahead);

  it('is known to its blocks', () => {
    const { least, most } = looks(700, honest);
    expect(Math.abs(least - (wall() + ahead))).toBeLessThanOrEqual(perBlock);
    expect(Math.abs(most - (wall() + ahead))).toBeLessThanOrEqual(perBlock);
  });

  it('is known where no block comes, and after', () => {
    looks(700, honest);
    const last = honest();
    const { least, most } = looks(2 * hour, () => last);
    expect(Math.abs(least - (wall() + ahead))).toBeLessThanOrEqual(perBlock);
    expect(Math.abs(most - (wall() + ahead))).toBeLessThanOrEqual(perBlock);
    expect(Math.abs(looks(1, honest).least - (wall() + ahead))).toBeLessThanOrEqual(perBlock);
  });

  it.each([
    ['far ahead', { number: 20_000_000, timestamp: began + 240 * hour }],
    ['far ahead with a low number', { number: 1, timestamp: began + 240 * hour }],
    ['far back with a high number', { number: 20_000_000, timestamp: began - 240 * hour }],
    ['of another chain of that time', { number: 20_000_000, timestamp: began + ahead + 700 }],
  ])('is known after one head that is %s, first or later', (_name, lie) => {
    expect(clock.at(lie).least).toBe(0);
    looks(10, honest);
    expect(Math.abs(looks(690, honest).most - (wall() + ahead))).toBeLessThanOrEqual(perBlock);
    for (const later of [() => lie, honest]) {
      const { least } = looks(1, later);
      expect(Math.abs(least - (wall() + ahead))).toBeLessThanOrEqual(perBlock);
    }
    expect(Math.abs(looks(60, honest).most - (wall() + ahead))).toBeLessThanOrEqual(perBlock);
  });

  it('is known again some minutes after heads of another chain were believed', () => {
    const { least } = looks(20, () => ({ number: 20_000_000, timestamp: began + 240 * hour + passed }));
    expect(least).toBeGreaterThan(began + 239 * hour);
    const { least: later, most } = looks(700, honest);
    expect(Math.abs(later - (wall() + ahead))).toBeLessThanOrEqual(perBlock);
    expect(Math.abs(most - (wall() + ahead))).toBeLessThanOrEqual(perBlock);
  });

  it('is known again soon after its clock was set on', () => {
    looks(700, honest);
    const { least } = looks(20, () => headOf(ahead + hour));
    expect(Math.abs(least - (wall() + ahead + hour))).toBeLessThanOrEqual(perBlock);
  });
});

describe('a node that is behind', () => {
  it.each([600, 20, 2, 1.1])('counts as the wall while it catches up %f seconds in one', (rate) => {
    const behind = 3 * hour;
    const catching = (): Head => {
      const gained = Math.min(behind, (rate - 1) * passed);
      const height = Math.floor((passed + gained) / perBlock);
      return { number: 1000 + height, timestamp: began - behind + perBlock * height };
    };
    for (let look = 0; look < 2 * hour; look++) {
      const { least, most } = looks(1, catching);
      expect(most).toBeGreaterThanOrEqual(wall());
      expect(least).toBeLessThanOrEqual(wall());
    }
  });

  it('does not set the time back that another one said, while it catches up or stands still', () => {
    looks(700, () => headOf(0));
    const stale = { ...headOf(-hour), number: 900 };
    const catching = () => ({ number: 900 + Math.floor(passed / 20), timestamp: stale.timestamp + 2 * passed });
    for (const head of [() => stale, catching]) {
      const { least, most } = looks(1000, head);
      expect(Math.abs(least - wall())).toBeLessThanOrEqual(perBlock);
      expect(most).toBeGreaterThanOrEqual(wall());
    }
  });
});

describe.each([
  [12, 12],
  [2, 2],
  [0.25, 2],
  [0.25, 1],
])('two nodes behind one endpoint, blocks of %s s, one of them %s s behind', (blockSeconds, lag) => {
  let look = 0;
  const either = (): { timestamp: number } => {
    const behind = look++ % 2 === 0 ? lag : 0;
    return { timestamp: Math.floor(began + Math.floor((passed - behind) / blockSeconds) * blockSeconds) };
  };
  const looksEach = (seconds: number) => {
    let time = clock.at(either());
    for (const until = passed + seconds; passed < until;) {
      passed += 0.25;
      time = clock.at(either());
    }
    return time;
  };

  it('are believed in seconds', () => {
    expect(Math.abs(looksEach(8).least - wall())).toBeLessThanOrEqual(blockSeconds + lag + 1);
  });

  it('are believed again ten minutes after heads of another chain were', () => {
    looks(20, () => ({ number: 20_000_000, timestamp: began + 240 * hour + passed }));
    const { least, most } = looksEach(640);
    for (const time of [least, most]) expect(Math.abs(time - wall())).toBeLessThanOrEqual(blockSeconds + lag + 1);
  });
});
