import { describe, expect, it } from 'vitest';
import type { ProgressGrain } from '#attestation/records';
import type { EventOf } from '#libs/wire/channel';
import { jobOf } from '#test/host-attack';
import { tinyJob, tinyManifest, type TinyJob } from '#test/tiny-job';
import { keyed } from '#test/tiny-release';
import { crew, segment, tinyParallelJob } from '#test/tiny-rounds';
import { progressGate, toldEdges } from './progress.js';

/** 20 steps in segments of 8; an epoch has 8 as well unless the superblock is larger. */
async function told(job: TinyJob, checkpoint: Uint8Array | null = null) {
  const { session } = await keyed(job);
  await session.request('train', { checkpoint, threads: 1 });
  const end = await session.ended();
  const figures = session.events.filter((event): event is EventOf<'progress'> => event.type === 'progress');
  const checkpoints = session.events.filter((event): event is EventOf<'checkpoint'> => event.type === 'checkpoint');
  return { end, figures, checkpoints };
}

const under = (every: ProgressGrain | null, segmentSteps = 5) =>
  tinyJob({ segmentSteps, ...(every !== null && { spec: { progress: { every } } }) });

describe('what leaves the enclave while it trains', () => {
  it.each<[ProgressGrain | null, number[]]>([
    ['none', []],
    ['epoch', [8, 16]],
    [null, [8, 16]],
    ['segment', [5, 10, 15, 20]],
    ['step', [5, 10, 15, 20]],
  ])('A-M5 under `%s` are figures after steps %j alone', async (every, steps) => {
    const { figures, end } = await told(await under(every));
    expect(end.type).toBe('result');
    expect(figures.map(({ step }) => step)).toEqual(steps);
  });

  it('A-M5 is of no fewer records than an epoch unless the owner signed so, also where segments are one step', async () => {
    const { figures } = await told(await under(null, 1));
    expect(figures.map(({ step }) => step)).toEqual([8, 16]);
  });

  it('A-M5 are the same figures wherever a run is begun again, and none of part of a window', async () => {
    const job = await under(null);
    const whole = await told(job);
    const again = await told(job, whole.checkpoints[0]!.ciphertext);
    const figuresOf = ({ figures }: typeof whole) => figures.map(({ step, lossMicro }) => [step, lossMicro]);
    expect(figuresOf(again)).toEqual(figuresOf(whole).slice(1));
    const late = await told(job, whole.checkpoints[1]!.ciphertext);
    expect(figuresOf(late)).toEqual([]);
  });

  it('A-M5 counts of errors that are 0 are of whole windows too', async () => {
    const edges = (await told(await under('epoch'))).figures.map(({ edges: own }) => own);
    expect(edges).toHaveLength(2);
    for (const own of edges) {
      expect(own).toMatchObject([{ edge: expect.stringMatching(/^Y\d$/) as string, values: 0, saturatedErrors: 0 }]);
      expect(own[0]!.errors % 8).toBe(0);
      expect(own[0]!.zeroErrors).toBeLessThanOrEqual(own[0]!.errors);
    }
  });

  it('A-M5 leaves the borders as they are', async () => {
    const ends = await Promise.all((['none', 'step'] as const).map(async (every) => told(await under(every))));
    const [none, step] = ends.map(({ end }) => (end as EventOf<'result'>).run.last);
    expect(none).toEqual(step);
  });

  it('A-M5 in a data-parallel job is what its owner signed for, too', async () => {
    for (const [every, count] of [
      ['none', 0],
      ['segment', 1],
    ] as const) {
      const [party] = await crew(await tinyParallelJob(2, { spec: { progress: { every } } }), 1);
      expect(await segment(party!, 1, null)).toMatchObject({ type: 'partial' });
      expect(party!.session.events.filter(({ type }) => type === 'progress')).toHaveLength(count);
    }
  });

  it('A-M5 under `none` a stop names no tensor, and no step but that of its segment', async () => {
    const [open, closed] = [await stopped('epoch'), await stopped('none')];
    expect(open).toMatchObject({ type: 'stopped', tensor: expect.stringMatching(/^[YGWb]\d$/) as string });
    expect(closed).toMatchObject({ type: 'stopped', tensor: 'not told', step: 1000 * closed.run.upTo });
    expect(closed).toMatchObject({ got: 'a value beyond it', action: 'lower the learning rate' });
    expect([closed.run.upTo, closed.run.last]).toEqual([open.run.upTo, open.run.last]);
  });

  it('A-M5 how fast a tensor grew is told to the next power of two, unless figures of steps may leave', async () => {
    const [fine, coarse] = [await stopped('step'), await stopped('epoch')];
    const factorOf = ({ got }: typeof fine) => /, ([\d.]+) times as large as/.exec(got)?.[1];
    const [exact, told] = [Number(factorOf(fine)), Number(factorOf(coarse))];
    expect(Number.isInteger(Math.log2(told))).toBe(true);
    expect(exact).toBeLessThanOrEqual(told);
    expect(2 * exact).toBeGreaterThan(told);
    for (const { action } of [fine, coarse]) expect(action).toContain('lower the learning rate to');
  });
});

async function stopped(every: ProgressGrain): Promise<EventOf<'stopped'>> {
  const manifest = tinyManifest({ e: 0, steps: 4000 });
  const { end } = await told(await tinyJob({ manifest, segmentSteps: 1000, spec: { progress: { every } } }));
  return end as EventOf<'stopped'>;
}

describe('windows', () => {
  it('take the mean over their own steps, in chunks of any size', async () => {
    const { manifest, spec } = await jobOf('plain');
    const examples = { count: 32 } as Parameters<typeof progressGate>[0]['examples'];
    const gate = progressGate({ manifest, spec, examples });
    const pass = (to: number, count: number, loss: number) =>
      gate.pass(to, count, { loss, accuracy: 0, edges: [] })?.loss ?? null;
    expect([pass(2, 2, 1), pass(8, 6, 5), pass(11, 3, 9), pass(16, 5, 1)]).toEqual([null, 4, null, 4]);
    expect([pass(18, 2, 1), pass(24, 4, 1), pass(32, 8, 3)]).toEqual([null, null, 3]);
  });

  it('sum the counts of their own steps', async () => {
    const { manifest, spec } = await jobOf('plain');
    const examples = { count: 32 } as Parameters<typeof progressGate>[0]['examples'];
    const gate = progressGate({ manifest, spec, examples });
    const of = (n: number) => [
      { edge: 'n0', values: n, saturatedValues: n, errors: n, saturatedErrors: n, zeroErrors: n },
    ];
    const pass = (to: number, count: number, n: number) =>
      gate.pass(to, count, { loss: 0, accuracy: 0, edges: of(n) })?.edges ?? null;
    expect([pass(2, 2, 1), pass(8, 6, 5), pass(16, 8, 7)]).toEqual([null, of(6), of(7)]);
  });
});

describe('edges of a large net', () => {
  const edge = (i: number) => ({
    ...{ edge: `n${i}`, values: 10, saturatedValues: i % 7, errors: 10, saturatedErrors: 0, zeroErrors: 0 },
  });

  it('are told of where most saturates, in their order', () => {
    const all = Array.from({ length: 100 }, (_, i) => edge(i));
    const some = toldEdges(all);
    expect(some).toHaveLength(64);
    expect(some).toEqual(all.filter((one) => some.includes(one)));
    const left = all.filter((one) => !some.includes(one)).map(({ saturatedValues }) => saturatedValues);
    expect(Math.max(...left)).toBeLessThanOrEqual(Math.min(...some.map(({ saturatedValues }) => saturatedValues)));
    expect(toldEdges(all.slice(0, 64))).toEqual(all.slice(0, 64));
  });
});
