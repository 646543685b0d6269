import { afterEach, expect, it, vi } from 'vitest';
import { InferenceSession, Tensor } from './runtime.js';

const { prototype } = InferenceSession as unknown as { prototype: InferenceSession };
const run = prototype.run as (feeds: unknown) => Promise<InferenceSession.ReturnType>;

afterEach(() => vi.restoreAllMocks());

/** As a fresh process finds it, where the runtime's sums come out as `made` says. */
async function found(made: (sum: number) => number): Promise<boolean> {
  vi.resetModules();
  vi.spyOn(prototype, 'run').mockImplementation(async function (this: InferenceSession, feeds) {
    const { y } = await run.call(this, feeds);
    return { y: new Tensor('int32', (y!.data as Int32Array).map(made), y!.dims) };
  });
  const { carriesBytes } = await import('./carries-bytes.js');
  return carriesBytes();
}

it('sums that saturate, or are one off in one place, are not exact', async () => {
  expect(await found((sum) => Math.max(-32_768, Math.min(32_767, sum)))).toBe(false);
  let at = 0;
  expect(await found((sum) => (at++ === 2_000 ? sum + 1 : sum))).toBe(false);
});

it('the extremes reach beyond 16 bits', async () => {
  let most = 0;
  await found((sum) => {
    most = Math.max(most, Math.abs(sum));
    return sum;
  });
  expect(most).toBeGreaterThanOrEqual(255 * 128 * 131);
});
