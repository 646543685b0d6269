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

  it('leave an end only when the chain takes a settlement back', () => {
    for (const state of endStates) {
      const leaving = triggers.filter((trigger) => (transitions[trigger].from as readonly JobState[]).includes(state));
      expect(leaving, state).toEqual(state === 'settled' ? ['reorganise'] : []);
    }
  });

  it('settle only after attestation, key release, run and delivery', () => {
    for (const needed of ['lease', 'attest', 'key', 'run', 'deliver', 'settle'] as const) {
      const without = triggers.filter((trigger) => trigger !== needed);
      expect(reachableFrom('submitted', without).has('settled'), needed).toBe(false);
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
