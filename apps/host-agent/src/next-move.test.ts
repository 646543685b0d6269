import { describe, expect, it } from 'vitest';
import { JobMode, type Terms } from '#attestation/records';
import { jobStates, type JobState, type JobView } from '#libs/settlement';
import { isPressing, moveBesides, nextMove, type Situation } from './next-move.js';

const since = 1_000_000;
const delivery = `0x${'05'.repeat(32)}`;
const windows = {
  start: 100,
  compute: 1000,
  finality: 0,
  draw: 0,
  challenge: 90,
  prove: 0,
  provePer: 0,
  hold: 0,
  reveal: 500,
  ack: 200,
  drawBlocks: 0,
};
const revealMarginSeconds = 60;
const terms = {
  mode: JobMode.tee | JobMode.reveal,
  dutySelectors: [],
  acceptBy: since + 50,
  windows,
} as unknown as Terms;
const ackUntil = since + windows.ack;
const afterAck = ackUntil + 1;
const revealUntil = ackUntil + windows.reveal;

function view(state: JobState, change: Partial<JobView> = {}): JobView {
  const nothing = {
    ...{ outcome: 0, upTo: 1, openDuties: 0, proved: 0, lastDuty: 0, missing: false, stopRequested: false },
    ...{ available: false, shown: false, unsealed: false, hasDuties: false, dueByUnseal: false, drawFrom: 0 },
    ...{ sealed: true, allDue: false, sampleDue: false, drawn: false, setDeadline: 0, drawUntil: 0, drawBlock: 0 },
    ...{ paid: 0n, root: delivery, seed: `0x${'00'.repeat(32)}` },
  };
  return { ...nothing, state, since, ackUntil: state === 'Committed' ? ackUntil : 0, delivery, ...change };
}

/** Both views in one state unless told otherwise. */
function situation(state: JobState, chainTime: number, change: Partial<Situation> = {}): Situation {
  const seen = view(state);
  const times = { chainTime, timeAtLeast: chainTime, timeAtMost: chainTime };
  const proofs = { isStopped: false, lacksProofs: false, bringsProofs: false };
  const kept = { isTold: true, isStored: true, isNewest: true, revealMargin: revealMarginSeconds, ...proofs };
  return { terms, latest: seen, confirmed: seen, ...times, delivery, ...kept, ...change };
}

const none = { delivery: null };
const either = { ...terms, mode: JobMode.tee, dutySelectors: [new Uint8Array(4)] };

describe('before a result', () => {
  it.each<[string, Situation, string]>([
    ['accepted, in its start window', situation('Accepted', since + 100, none), 'wait'],
    ['accepted, and never started', situation('Accepted', since + 101, none), 'abort'],
    ['started', situation('Started', since + 750, none), 'wait'],
    ['started, and nobody at work on it any more', situation('Started', since + 751, none), 'resign'],
    ['started, with a later session at work', situation('Started', since + 751, { ...none, isNewest: false }), 'wait'],
    ['started, where proofs may finish it', situation('Started', since + 937, { ...none, terms: either }), 'wait'],
    ['the same, when nobody has proved it', situation('Started', since + 938, { ...none, terms: either }), 'resign'],
    [
      'the same, with a later session at work',
      situation('Started', since + 938, { ...none, terms: either, isNewest: false }),
      'wait',
    ],
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
    ['committed, before the ack window has passed', situation('Committed', ackUntil), 'wait'],
    ['committed, before the broker has the ciphertext', situation('Committed', since, { isStored: false }), 'store'],
    ['committed, after it', situation('Committed', afterAck), 'finalize'],
    ['the same without the broker', situation('Committed', afterAck, { isStored: false }), 'finalize'],
    ['in time with the margin', situation('Committed', revealUntil - revealMarginSeconds), 'finalize'],
    ['too close to the end', situation('Committed', revealUntil - revealMarginSeconds + 1), 'wait'],
    ['too close where no block comes', situation('Committed', afterAck, { timeAtMost: revealUntil }), 'wait'],
    ['after the reveal window', situation('Committed', revealUntil + 1), 'undelivered'],
  ])('%s', (_, given, move) => expect(nextMove(given)).toBe(move));

  it('keeps its key while the commitment is not confirmed, or confirmed as another', () => {
    const confirmed = [view('Started'), view('Committed', { missing: true }), view('Committed', { delivery: '0x' })];
    for (const other of confirmed) {
      expect(nextMove(situation('Committed', afterAck, { confirmed: other }))).toBe('wait');
    }
  });

  it('keeps its key where the chain holds another delivery or an open duty', () => {
    expect(nextMove(situation('Committed', afterAck, { delivery: `0x${'06'.repeat(32)}` }))).toBe('wait');
    const latest = view('Committed', { openDuties: 1 });
    expect(nextMove(situation('Committed', afterAck, { latest, confirmed: latest }))).toBe('wait');
  });

  it('answers a client that misses the ciphertext, while that helps', () => {
    const latest = view('Committed', { missing: true });
    const missing = (chainTime: number) => nextMove(situation('Committed', chainTime, { latest, confirmed: latest }));
    expect(missing(ackUntil)).toBe('answer');
    expect(missing(ackUntil + 1)).toBe('undelivered');
  });

  it('S-H3 publishes at the second complaint: the broker’s word was not enough', () => {
    const latest = view('Committed', { missing: true, available: true });
    expect(nextMove(situation('Committed', ackUntil, { latest, confirmed: latest }))).toBe('publish');
    const other = { latest, confirmed: latest, delivery: `0x${'06'.repeat(32)}` };
    expect(nextMove(situation('Committed', ackUntil, other))).toBe('wait');
  });

  it('S-M12 never shows its key for a seal that was taken away, and ends the job at once', () => {
    const latest = view('Committed', { unsealed: true });
    for (const time of [since, afterAck, revealUntil + 1]) {
      expect(nextMove(situation('Committed', time, { latest, confirmed: latest }))).toBe('unsealed');
      expect(nextMove(situation('Committed', time, { latest }))).toBe('unsealed');
    }
    const challenged = view('Committed', { unsealed: true, openDuties: 1 });
    expect(nextMove(situation('Committed', afterAck, { latest: challenged }))).toBe('wait');
  });

  it('ends a run whose seal was taken away when nobody has proved it in time', () => {
    const due = { unsealed: true, sealed: false, dueByUnseal: true, allDue: true, upTo: 2, setDeadline: since + 500 };
    const at = (chainTime: number, change: Partial<JobView> = {}) => {
      const latest = view('Committed', { ...due, proved: 1, delivery: `0x${'00'.repeat(32)}`, ...change });
      return nextMove(situation('Committed', chainTime, { latest, confirmed: latest, terms: either }));
    };
    expect([at(since + 500), at(since + 501)]).toEqual(['wait', 'lapse']);
    expect(at(since + 501, { proved: 2 })).toBe('finalize');
    // What it owed from its commit on would cost the stake.
    expect(at(since + 501, { dueByUnseal: false })).toBe('wait');
  });

  it('S-M11 waits for the window in which a seal can be challenged, acknowledged or not', () => {
    const latest = view('Committed', { ackUntil: since });
    const ready = (chainTime: number) => nextMove(situation('Committed', chainTime, { latest, confirmed: latest }));
    expect([ready(since + windows.challenge), ready(since + windows.challenge + 1)]).toEqual(['wait', 'finalize']);
  });

  it('finalizes a run without delivery when its seal stands', () => {
    const latest = view('Committed', { delivery: `0x${'00'.repeat(32)}`, ackUntil: 0 });
    expect(nextMove(situation('Committed', since + windows.challenge, { latest }))).toBe('wait');
    expect(nextMove(situation('Committed', since + windows.challenge + 1, { latest }))).toBe('finalize');
  });
});

describe('with a run that owes a proof of every segment', () => {
  const lacks = { lacksProofs: true };
  it.each<[string, Situation, string]>([
    ['proofs missing, told or not', situation('Started', since + 937, lacks), 'wait'],
    ['proofs missing at the last moment', situation('Started', since + 938, lacks), 'resign'],
    ['the same, untold', situation('Started', since + 938, { ...lacks, isTold: false }), 'resign'],
    [
      'the same, with a later session at work',
      situation('Started', since + 938, { ...lacks, isNewest: false }),
      'wait',
    ],
    ['proofs missing of a run that cannot go on', situation('Started', since, { ...lacks, isStopped: true }), 'resign'],
    ['every proof here', situation('Started', since), 'commit'],
    ['every proof here, untold at the last call', situation('Started', since + 751, { isTold: false }), 'commit'],
    ['proofs here that are pressing', situation('Committed', since, { bringsProofs: true }), 'discharge'],
    ['the same after the reveal window', situation('Committed', revealUntil + 1, { bringsProofs: true }), 'discharge'],
  ])('%s', (_, given, move) => expect(nextMove(given)).toBe(move));

  it('brings none for a run whose seal was taken away: nothing is paid for it', () => {
    const latest = view('Committed', { unsealed: true, allDue: true });
    expect(nextMove(situation('Committed', since, { latest, bringsProofs: true }))).toBe('unsealed');
  });

  it('answers a client that misses the ciphertext all the same, and brings them besides', () => {
    const latest = view('Committed', { missing: true, allDue: true, upTo: 2 });
    const asked = { latest, bringsProofs: true };
    const published = { ...asked, latest: { ...latest, available: true } };
    expect(nextMove(situation('Committed', ackUntil, asked))).toBe('answer');
    expect(nextMove(situation('Committed', ackUntil, published))).toBe('publish');
    expect(nextMove(situation('Committed', ackUntil + 1, asked))).toBe('discharge');
    const besides = (['answer', 'publish', 'discharge', 'unsealed'] as const).map((next) => moveBesides(next, asked));
    expect(besides).toEqual(['discharge', 'discharge', null, null]);
    expect(moveBesides('answer', { bringsProofs: false })).toBeNull();
  });

  it('tries no other end while proofs are owed: the chain would refuse it', () => {
    const latest = view('Committed', { allDue: true, upTo: 2, proved: 1 });
    expect(nextMove(situation('Committed', revealUntil + 1, { latest, confirmed: latest }))).toBe('wait');
  });

  it('leaves proofs to others for a quarter of their window, behind a seal from the end of the challenges on', () => {
    const proving = { ...terms, windows: { ...windows, prove: 400 } };
    const due = view('Committed', { allDue: true, upTo: 2, proved: 1 });
    const at = (change: Partial<JobView>, time: number) => isPressing(proving, { ...due, ...change }, since + time);
    expect([at({}, 190), at({}, 191)]).toEqual([false, true]);
    expect([at({ sealed: false }, 100), at({ sealed: false }, 101)]).toEqual([false, true]);
    expect([at({ proved: 2 }, 191), at({ allDue: false }, 191)]).toEqual([false, false]);
  });
});

it('is over only when its end is confirmed', () => {
  for (const state of jobStates.slice(jobStates.indexOf('Settled'))) {
    expect(nextMove(situation(state, since))).toBe('end');
    expect(nextMove(situation(state, since, { confirmed: view('Committed') }))).toBe('wait');
  }
});
