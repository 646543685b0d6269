/** What the console says of a job's training, in words. */
import type { ComponentChildren, VNode } from 'preact';
import { describe, expect, it } from 'vitest';
import type { Story } from '../src/console/live.js';
import { Share } from '../src/console/pages/trained.js';
import { Training } from '../src/console/pages/training.js';
import type { Job } from '../src/console/types.js';

/** Text of components that have no state. */
function textOf(node: ComponentChildren): string {
  if (Array.isArray(node)) return (node as ComponentChildren[]).map(textOf).join('');
  if (typeof node === 'string' || typeof node === 'number') return String(node);
  if (typeof node !== 'object' || node === null) return '';
  const { type, props } = node as VNode<{ children?: ComponentChildren }>;
  return textOf(typeof type === 'function' ? (type as (of: object) => ComponentChildren)(props) : props.children);
}

const story: Story = {
  ...{ progress: [], evaluations: [], checkpoints: [4, 8, 12], proofs: new Set<number>() },
  ...{ moments: [], isLive: false, awayAt: null },
};

const wordsOf = (state: string, upTo: number): string => {
  const job = { state, steps: 20, assurance: 'tee', progress: null } as Job;
  return textOf(Training({ job, story, escrow: { segments: 5, upTo } }));
};

it('says of a job that a rule ended how far it was trained, and that it ended early', () => {
  for (const state of ['delivered', 'settled']) {
    expect(wordsOf(state, 3)).toContain('It ended early: step 12 of 20.');
    expect(wordsOf(state, 3)).toContain('3 of 5 segments trained and signed; each is 4 steps.');
    expect(wordsOf(state, 5)).toContain('Step 20 of 20.5 of 5 segments trained and signed');
  }
  expect(wordsOf('running', 0)).toContain('3 of 5 segments trained and signed');
});

describe('the list of jobs', () => {
  const of = (state: string, step: number, escrow?: { segments: number; upTo: number }, steps = 20): string => {
    const job = { id: '0x0a', state, steps, progress: { step } } as Job;
    return textOf(Share({ job, escrow }));
  };

  it('says of a job that a rule ended how many of its steps were trained', () => {
    for (const state of ['delivered', 'settled']) {
      expect(of(state, 12, { segments: 5, upTo: 3 })).toBe('ended early: 12 of 20 steps');
      expect(of(state, 8, { segments: 5, upTo: 3 })).toBe('ended early: 12 of 20 steps');
      expect(of(state, 12, { segments: 3, upTo: 2 })).toBe('ended early, 20 steps were planned');
    }
  });

  it('says of others what share of their steps is trained', () => {
    expect(of('running', 12, { segments: 5, upTo: 0 })).toBe('60 % of 20 steps');
    expect(of('settled', 18, { segments: 5, upTo: 5 })).toBe('100 % of 20 steps');
    expect(of('settled', 20)).toBe('100 % of 20 steps');
  });
});
