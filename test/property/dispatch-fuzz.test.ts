import { expect, it } from 'vitest';
import { pattern } from '#libs/wire';
import { TestAppraiser } from '../../apps/control-plane/test/harness.js';
import { shown } from '../../apps/control-plane/test/job-fixture.js';
import { fuzzDispatch } from './dispatch-fuzz.js';

/** VERITRAIN_FUZZ sets the number of mutants, VERITRAIN_SEED the seed; the long run takes 100,000. */
const count = Number(process.env['VERITRAIN_FUZZ'] ?? 300);
const seed = Number(process.env['VERITRAIN_SEED'] ?? 20_261_121);

it(`answers ${count} mutants of dispatch frames of seed ${seed} with codes, and takes none that is not genuine`, async () => {
  const report = await fuzzDispatch(count, seed);
  expect(report.failures.slice(0, 3)).toEqual([]);
  expect(report.refused).toBeGreaterThan(0.7 * count);
}, 7_200_000);

it('finds a control plane that takes any evidence', async () => {
  const report = await fuzzDispatch(100, seed, undefined, {
    only: pattern.leaseAttested,
    appraiser: new TestAppraiser(),
  });
  expect(report.accepted).toBeGreaterThan(0);
}, 600_000);

it('finds a control plane in which something fails that nobody foresaw', async () => {
  class Broken extends TestAppraiser {
    override appraise(request: { evidence: Uint8Array }) {
      if (Buffer.from(request.evidence).toString('base64') !== shown.evidence) throw new TypeError('planted');
      return super.appraise(request);
    }
  }
  const report = await fuzzDispatch(100, seed, undefined, { only: pattern.leaseAttested, appraiser: new Broken() });
  expect(report.failures.map(({ what }) => what)).toContain('refused with INTERNAL');
}, 600_000);
