import { describe, expect, it } from 'vitest';
import { loadSamples } from '#test/samples';
import { runSample } from './index.js';

/** The manifest's reasons in this verifier's codes, worst first. */
const reasons: Readonly<Record<string, readonly string[]>> = {
  'milan-v2-vcek-debug-policy': ['SNP_POLICY_DEBUG_SET'],
  'milan-v2-vcek-invalid-cert-legacy': ['X509_SIGNATURE', 'SNP_REPORT_SIGNATURE', 'SNP_CHIP_ID', 'SNP_CERTIFICATE_TCB'],
  'milan-v2-vcek-invalid-cert-new': ['X509_SIGNATURE', 'SNP_REPORT_SIGNATURE', 'SNP_CHIP_ID', 'SNP_CERTIFICATE_TCB'],
  'milan-v3-vcek': ['SNP_ENDORSEMENT_DATE'],
  'milan-v2-unendorsed': ['SNP_ENDORSEMENT_MISSING'],
  'malformed-guest-report-bad-sig': ['SNP_REPORT_SIZE'],
  'malformed-guest-report-corrupt': ['SNP_REPORT_SIZE'],
};

const samples = loadSamples('amd-snp');
describe.skipIf(samples.length === 0).each(samples)('real SNP sample $id', (sample) => {
  it('is judged for the manifest’s reason', async () => {
    const { checks } = await runSample(sample);
    const decided = checks.filter(({ status }) => status !== 'met' && status !== 'not-checked');
    expect(decided.map(({ code }) => code)).toEqual(reasons[sample.id] ?? []);
  });
});

const vlek = samples.find(({ id }) => id === 'milan-v3-vlek-aws');
it.skipIf(vlek === undefined)('a VLEK report falls with its certificate', async () => {
  const later = await runSample({ ...vlek!, at: Date.parse('2025-12-11T00:00:00Z') / 1000 });
  expect(later).toMatchObject({ authentic: false, appraisal: 'contraindicated' });
  expect(later.codes).toContain('X509_PATH_EXPIRED');
});

const hcl = samples.find(({ files }) => files.has('hclReport'));
const other = samples.find(({ id }) => id === 'milan-v2-vcek-azure');
it.skipIf(hcl === undefined || other === undefined)(
  'claims of one paravisor do not pass under the report of another',
  async () => {
    const files = new Map([...other!.files, ['hclReport', hcl!.files.get('hclReport')!]]);
    const report = await runSample({ ...other!, files });
    expect(report).toMatchObject({ authentic: false, appraisal: 'contraindicated', codes: ['HCL_REPORT_DATA'] });
  },
);
