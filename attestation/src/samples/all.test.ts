import { expect, it } from 'vitest';
import { describeSamples } from '#test/describe-samples';
import { fakeAmd, fakeAmdAt } from '#test/fake-amd';
import { loadSamples } from '#test/samples';
import { toBase64 } from '../base/bytes.js';
import { isAsStated, runSample } from './index.js';

describeSamples('every folder of real evidence', () => {
  for (const sample of loadSamples()) {
    it(`${sample.folder}/${sample.id}`, async () => {
      const report = await runSample(sample);
      if (sample.expect === null) return expect(report.authentic).toBe(true);
      expect(isAsStated(report, sample.expect), `${report.appraisal}: ${report.codes.join(', ')}`).toBe(true);
      const good = report.authentic && report.appraisal === 'affirming';
      expect(report.codes.length === 0).toBe(good || (report.authentic && report.appraisal === null));
    });
  }
});

describeSamples('a folder made to deceive', () => {
  const forged = new Map([
    ['amd-snp', 'aws-nitro'],
    ['aws-nitro', 'intel-tdx'],
    ['intel-tdx', 'aws-nitro'],
    ['nvidia-gpu', 'aws-nitro'],
  ]);
  const affirmed = [...forged].map(([folder, other]) => ({
    sample: loadSamples(folder).find(({ expect: wanted }) => wanted?.appraisal === 'affirming')!,
    anchors: loadSamples(other)[0]!.anchors,
  }));

  it.each(affirmed)('is not believed with other anchors: $sample.folder', async ({ sample, anchors }) => {
    const report = await runSample({ ...sample, anchors });
    expect([report.authentic, report.appraisal]).not.toEqual([true, 'affirming']);
  });

  it.each(affirmed)('is reported when an anchor cannot be read: $sample.folder', async ({ sample }) => {
    const report = await runSample({ ...sample, anchors: ['not a certificate'] });
    expect(report).toMatchObject({ authentic: false, appraisal: 'contraindicated', codes: ['X509_PEM'] });
  });

  it('is refused when it has no known kind of evidence', async () => {
    await expect(
      runSample({ id: 'x', files: new Map([['note', new Uint8Array()]]), anchors: [], at: 0 }),
    ).rejects.toThrow('SAMPLE_UNKNOWN');
  });
});

it('a folder cannot bring its own root', async () => {
  const amd = fakeAmd('milan');
  const anchors = [amd.vendor.ask, amd.vendor.ark].map(pem);
  const files = new Map([
    ['report', await amd.report()],
    ['leaf', amd.vendor.vcek],
  ]);
  const report = await runSample({ id: 'synthetic', files, anchors, at: fakeAmdAt });
  expect(report.authentic).toBe(false);
  expect(report.codes).toContain('X509_PATH_ROOT');
});

function pem(der: Uint8Array): string {
  const lines = toBase64(der).match(/.{1,64}/g)!;
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
