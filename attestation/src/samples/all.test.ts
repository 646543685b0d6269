import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runSample } from './index.js';
import { loadSamples, samplesRoot } from '#test/samples';

describe.skipIf(!existsSync(samplesRoot))('every folder of real evidence', () => {
  for (const sample of loadSamples()) {
    it(`${sample.folder}/${sample.id}`, async () => {
      const report = await runSample(sample);
      if (sample.expect === null) return expect(report.authentic).toBe(true);
      expect(report.authentic).toBe(sample.expect.authentic);
      if (sample.expect.appraisal !== null) expect(report.appraisal).toBe(sample.expect.appraisal);
      const good = report.authentic && report.appraisal === 'affirming';
      expect(report.codes.length === 0).toBe(good || (report.authentic && report.appraisal === null));
    });
  }
});
