import { describe, expect, it } from 'vitest';
import { endStates, jobStates, nextState, transitions, type JobState, type JobTrigger } from './state-machine.js';

const triggers = Object.keys(transitions) as JobTrigger[];

function reachableFrom(start: JobState, using: readonly JobTrigger[] = triggers): Set<JobState> {
  const seen = new Set<JobState>([start]);
  for (const state of seen) {
    for (const trigger of using) {
      if ((transitions[trigger].from as readonly JobState[]).includes(state)) seen.add(transitions[trigger].to);
    }
  }
  return seen;
}

describe('job states', () => {
  it('are all reachable from submitted', () => {
    expect([...reachableFrom('submitted')].sort()).toEqual([...jobStates].sort());
  });

  it('all lead to an end', () => {
    for (const state of jobStates) {
      expect(
        [...reachableFrom(state)].some((reached) => endStates.includes(reached)),
        state,
      ).toBe(true);
    }
  });

  it('leave an end only when the chain knows better, or for another try', () => {
    const ways: Partial<Record<JobState, JobTrigger[]>> = {
      settled: ['reorganise'],
      failed: ['recover', 'retry'],
      refused: ['retry'],
    };
    for (const state of endStates) {
      const leaving = triggers.filter((trigger) => (transitions[trigger].from as readonly JobState[]).includes(state));
      expect(leaving, state).toEqual(ways[state] ?? []);
    }
  });

  it('settle only after attestation, or a job that is proved, and key release, run and delivery', () => {
    // What the chain has committed was attested, released and run under a lease before.
    const own = triggers.filter((trigger) => trigger !== 'recover');
    for (const needed of [['lease'], ['attest', 'entrust'], ['key', 'entrust'], ['run'], ['deliver'], ['settle']]) {
      const without = own.filter((trigger) => !needed.includes(trigger));
      expect(reachableFrom('submitted', without).has('settled'), needed.join()).toBe(false);
    }
  });

  it('refuse every trigger that the table does not have', () => {
    for (const state of jobStates) {
      for (const trigger of triggers) {
        const allowed = (transitions[trigger].from as readonly JobState[]).includes(state);
        if (allowed) expect(nextState(state, trigger)).toBe(transitions[trigger].to);
        else expect(() => nextState(state, trigger)).toThrow(expect.objectContaining({ code: 'JOB_STATE' }));
      }
    }
  });

  it('give a reason for every exit', () => {
    for (const trigger of triggers) {
      const isExit = endStates.includes(transitions[trigger].to) && transitions[trigger].to !== 'settled';
      if (isExit) expect(transitions[trigger].needsCode, trigger).toBe(true);
    }
  });
});
