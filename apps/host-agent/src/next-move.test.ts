import { describe, expect, it } from 'vitest';
import type { Terms } from '#attestation';
import { jobStates, type JobState, type JobView } from '#libs/settlement';
import { nextMove, revealMarginSeconds, type Situation } from './next-move.js';

const since = 1_000_000;
const delivery = `0x${'05'.repeat(32)}`;
const windows = {
  start: 100,
  compute: 1000,
  draw: 0,
  challenge: 0,
  prove: 0,
  provePer: 0,
  hold: 0,
  reveal: 500,
  ack: 200,
};
const terms = { acceptBy: since + 50, windows } as Terms;
const ackUntil = since + windows.ack;
const revealUntil = ackUntil + windows.reveal;

function view(state: JobState, change: Partial<JobView> = {}): JobView {
  const nothing = {
    ...{ outcome: 0, upTo: 1, openDuties: 0, proved: 0, lastProof: 0, missing: false, stopRequested: false },
    ...{ sealed: true, allDue: false, sampleDue: false, drawn: false, setDeadline: 0, drawUntil: 0, drawBlock: 0 },
    ...{ paid: 0n, root: delivery, seed: `0x${'00'.repeat(32)}` },
  };
  return { ...nothing, state, since, ackUntil: state === 'Committed' ? ackUntil : 0, delivery, ...change };
}

/** Both views in one state unless told otherwise. */
function situation(state: JobState, chainTime: number, change: Partial<Situation> = {}): Situation {
  const seen = view(state);
  return { terms, latest: seen, confirmed: seen, chainTime, now: chainTime, delivery, isTold: true, ...change };
}

const none = { delivery: null };

describe('before a result', () => {
  it.each<[string, Situation, string]>([
    ['accepted, in its start window', situation('Accepted', since + 100, none), 'wait'],
    ['accepted, and never started', situation('Accepted', since + 101, none), 'abort'],
    ['started', situation('Started', since + 1000, none), 'wait'],
    ['started, and never committed', situation('Started', since + 1001, none), 'abandon'],
    ['open', situation('Open', since, none), 'wait'],
    ['open, too late to be accepted', situation('Open', since + 151, none), 'end'],
    ['unknown to a chain that has forgotten it', situation('None', since, none), 'wait'],
  ])('%s', (_, given, move) => expect(nextMove(given)).toBe(move));
});

describe('with a result', () => {
  it.each<[string, Situation, string]>([
    ['started', situation('Started', since + 1000), 'commit'],
    ['started, while another may have the job', situation('Started', since + 750, { isTold: false }), 'wait'],
    ['started, when that one had its time', situation('Started', since + 751, { isTold: false }), 'commit'],
    ['started, after the compute window', situation('Started', since + 1001), 'abandon'],
    ['unknown, however late', situation('None', since + 10 ** 9), 'wait'],
    ['open, however late', situation('Open', since + 10 ** 9), 'wait'],
    ['committed, before the ack window has passed', situation('Committed', ackUntil - 1), 'wait'],
    ['committed, after it', situation('Committed', ackUntil), 'finalize'],
    ['in time with the margin', situation('Committed', revealUntil - revealMarginSeconds), 'finalize'],
    ['too close to the end', situation('Committed', revealUntil - revealMarginSeconds + 1), 'wait'],
    ['too close by the clock of the host', situation('Committed', ackUntil, { now: revealUntil }), 'wait'],
    ['after the reveal window', situation('Committed', revealUntil + 1), 'undelivered'],
  ])('%s', (_, given, move) => expect(nextMove(given)).toBe(move));

  it('keeps its key while the commitment is not confirmed, or confirmed as another', () => {
    const confirmed = [view('Started'), view('Committed', { missing: true }), view('Committed', { delivery: '0x' })];
    for (const other of confirmed) {
      expect(nextMove(situation('Committed', ackUntil, { confirmed: other }))).toBe('wait');
    }
  });

  it('keeps its key where the chain holds another delivery or an open duty', () => {
    expect(nextMove(situation('Committed', ackUntil, { delivery: `0x${'06'.repeat(32)}` }))).toBe('wait');
    const latest = view('Committed', { openDuties: 1 });
    expect(nextMove(situation('Committed', ackUntil, { latest, confirmed: latest }))).toBe('wait');
  });

  it('answers a client that misses the ciphertext, while that helps', () => {
    const latest = view('Committed', { missing: true });
    const missing = (chainTime: number) => nextMove(situation('Committed', chainTime, { latest, confirmed: latest }));
    expect(missing(ackUntil)).toBe('answer');
    expect(missing(ackUntil + 1)).toBe('undelivered');
  });

  it('finalizes a run without delivery at once', () => {
    const latest = view('Committed', { delivery: `0x${'00'.repeat(32)}`, ackUntil: 0 });
    expect(nextMove(situation('Committed', since, { latest }))).toBe('finalize');
  });
});

it('is over only when its end is confirmed', () => {
  for (const state of jobStates.slice(jobStates.indexOf('Settled'))) {
    expect(nextMove(situation(state, since))).toBe('end');
    expect(nextMove(situation(state, since, { confirmed: view('Committed') }))).toBe('wait');
  }
});
