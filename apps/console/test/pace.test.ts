/** What the console reckons out of what it heard of a job. */
import { describe, expect, it } from 'vitest';
import type { Moment, Story } from '../src/console/live.js';
import { secondsLeft, segmentSteps, trainedSteps } from '../src/console/pace.js';

const at = (second: number): string => new Date(1_790_000_000_000 + 1000 * second).toISOString();

const moment = (type: string, second: number, data: Moment['data']): Moment => ({
  ...{ id: `${second}`, type, at: at(second), data },
});
const running = (second: number): Moment => moment('state', second, { to: 'running' });
const checkpoint = (second: number, step: number): Moment => moment('checkpoint', second, { step });
const progress = (second: number, step: number): Story['progress'][number] => ({
  ...{ step, of: 100, loss: 1, accuracy: null, samplesPerSecond: null, at: at(second) },
});

describe('seconds that are left', () => {
  it('follow from the checkpoints, where the job lets out little else', () => {
    const moments = [running(0), checkpoint(10, 20), checkpoint(20, 40)];
    expect(secondsLeft({ progress: [progress(9, 18)], moments }, 100)).toBe(30);
  });

  it('follow from the second half of what was reported', () => {
    const told = [progress(10, 1), progress(20, 2), progress(30, 3), progress(32, 13), progress(34, 23)];
    expect(secondsLeft({ progress: told, moments: [running(0)] }, 43)).toBe(4);
  });

  it('are of this attempt alone', () => {
    const moments = [running(0), checkpoint(10, 20), checkpoint(20, 40), running(3600), checkpoint(3610, 60)];
    expect(secondsLeft({ progress: [], moments }, 100)).toBeNull();
    expect(secondsLeft({ progress: [], moments: [...moments, checkpoint(3620, 80)] }, 100)).toBe(10);
  });

  it('are not known before it trains, from one report, and from what is no number', () => {
    expect(secondsLeft({ progress: [progress(1, 1), progress(2, 2)], moments: [] }, 10)).toBeNull();
    expect(secondsLeft({ progress: [progress(1, 1)], moments: [running(0)] }, 10)).toBeNull();
    expect(secondsLeft({ progress: [progress(1, 1), progress(1, 2)], moments: [running(0)] }, 10)).toBeNull();
    const odd = [running(0), moment('checkpoint', 1, { step: '<b>' }), moment('checkpoint', 2, { step: {} })];
    expect(secondsLeft({ progress: [], moments: odd }, 10)).toBeNull();
  });
});

it('steps of a segment are those of the first checkpoint, where they make as many segments as the escrow has', () => {
  expect(segmentSteps(5058, 26, [200, 400])).toBe(200);
  expect(segmentSteps(5058, 26, [])).toBeNull();
  expect(segmentSteps(5058, 26, [400])).toBeNull();
  expect(segmentSteps(6, 1, [])).toBe(6);
});

describe('steps of a delivered job', () => {
  it('are those of the committed run', () => {
    expect(trainedSteps(20, [4, 8, 12], { segments: 5, upTo: 3 })).toBe(12);
    expect(trainedSteps(20, [], { segments: 5, upTo: 3 })).toBe(12);
    expect(trainedSteps(18, [4, 8], { segments: 5, upTo: 5 })).toBe(18);
    expect(trainedSteps(5058, [200], { segments: 26, upTo: 13 })).toBe(2600);
  });

  it('are all before a run is committed, and unknown where nobody told how long a segment is', () => {
    expect(trainedSteps(20, [4, 8, 12], { segments: 5, upTo: 0 })).toBe(20);
    expect(trainedSteps(20, [4, 8, 12], undefined)).toBe(20);
    expect(trainedSteps(5058, [], { segments: 26, upTo: 13 })).toBeNull();
  });
});
