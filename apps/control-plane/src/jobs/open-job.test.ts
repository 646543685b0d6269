import { describe, expect, it } from 'vitest';
import { jobIdOf, termsJson, encodeJobSpec } from '#attestation/records';
import { tinyJob } from '#test/tiny-job';
import { openJob } from './open-job.js';

const { spec, terms } = await tinyJob();
const row = () => ({ spec: Buffer.from(encodeJobSpec(spec)), terms: termsJson(terms) as Record<string, unknown> });

describe('the job of a row', () => {
  it('has what the row says', () => {
    const job = openJob(row());
    expect(jobIdOf(job.spec)).toEqual(jobIdOf(spec));
    expect(job.terms).toEqual(terms);
    expect(job.division).toMatchObject({ workers: 1, segmentSteps: spec.segmentSteps });
    expect(job.manifest.steps).toBeGreaterThan(0);
  });

  it('is read once for one row, and again for the row that is read again', () => {
    const [first, again] = [row(), row()];
    expect(openJob(first).spec).toBe(openJob(first).spec);
    expect(openJob(again).spec).not.toBe(openJob(first).spec);
  });

  it('refuses the part that cannot be read, and no other', () => {
    const job = openJob({ ...row(), spec: Buffer.from([1]) });
    expect(job.terms).toEqual(terms);
    expect(() => job.spec).toThrow();
  });
});
