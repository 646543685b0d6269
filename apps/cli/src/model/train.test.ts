/** What a training tells of itself beyond its model. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import type { EngineReport, runEngine } from '../train/engine-process.js';
import { initModel } from './init.js';
import { overfitLine } from './overfit-line.js';
import { trainModel } from './train.js';

/** What the engine tells besides what it trained. */
const engine = vi.hoisted(() => ({ losses: [0, 1], report: {} as Partial<EngineReport> }));
vi.mock('../train/engine-process.js', async (original) => {
  const real = await original<{ runEngine: typeof runEngine }>();
  return {
    runEngine: async (...[request, onTold]: Parameters<typeof runEngine>): Promise<EngineReport> => {
      const report = await real.runEngine(request, () => undefined);
      engine.losses.forEach((loss, step) => {
        const metric = { metric: 'loss', numerator: String(loss * 2 ** 32), denominator: '65536' };
        onTold!({ step, metrics: [metric] });
      });
      return { ...report, ...engine.report };
    },
  };
});

const folder = mkdtempSync(join(tmpdir(), 'veritrain-trained-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);

it('names no best step where it does not know the figures from the start', { timeout: 60_000 }, async () => {
  writeFileSync(at('d.csv'), `n,label\n${Array.from({ length: 40 }, (_, i) => `${i},${'ab'[i % 2]}`).join('\n')}\n`);
  await initModel({ from: at('d.csv'), out: at('plan'), epochs: '1' });
  const request = { manifest: at('plan/manifest.json'), data: at('d.csv'), threads: 1, checkpointEvery: 100 };
  const watch = { onProgress: () => undefined, onEvaluation: () => undefined };
  const whole = await trainModel({ ...request, out: at('whole') }, watch);
  expect(whole.overfit).toMatchObject({ best: { step: 0, value: 0 }, last: { step: 1, value: 1 } });
  engine.report = { resumedFrom: 1 };
  expect(await trainModel({ ...request, out: at('resumed') }, watch)).toMatchObject({ resumedFrom: 1, overfit: null });
  expect(overfitLine(whole.overfit!)[1]).toContain('--patience');
  expect(overfitLine(whole.overfit!, false)[1]).toBe('best at step 0 (loss 0), 1 at the end, step 1');
});
