/** Which runner judges an entry: decided by the files it has, so that a new folder needs no code. */
import { Rejection } from '../base/errors.js';
import type { Check, Tier } from '../check/checks.js';
import { meaningOf } from '../check/meanings.js';
import { snpReportBytes } from '../snp/abi.js';
import { runCompositeNrasSample } from './composite-nras.js';
import { runCompositeSample } from './composite.js';
import { runIntelSample } from './intel.js';
import { runNitroSample } from './nitro.js';
import { runNvidiaSample } from './nvidia.js';
import { runSnpSample } from './snp.js';
import { verdictOf } from './types.js';
import type { SampleEntry, SampleRunner, SampleVerdict } from './types.js';

export type SampleVendor = 'amd-snp' | 'nvidia' | 'intel' | 'aws-nitro' | 'composite' | 'composite-nras';

const runners: Readonly<Record<SampleVendor, SampleRunner>> = {
  composite: runCompositeSample,
  'composite-nras': runCompositeNrasSample,
  'amd-snp': runSnpSample,
  nvidia: runNvidiaSample,
  intel: runIntelSample,
  'aws-nitro': runNitroSample,
};

/** SPDM 1.1 GET_MEASUREMENTS: what a GPU report begins with. */
const spdmRequest = [0x11, 0xe0];

/** @throws Rejection SAMPLE_UNKNOWN when no role of the manifest is known */
export function sampleVendor({ files }: SampleEntry): SampleVendor {
  const has = (...roles: readonly string[]): boolean => roles.some((role) => files.has(role));
  if (has('nrasToken') && has('quote')) return 'composite-nras';
  if (has('gpuReport') && has('quote')) return 'composite';
  if (has('quote')) return 'intel';
  if (has('document')) return 'aws-nitro';
  if (has('rim', 'eat', 'chain', 'driverRim', 'vbiosRim', 'evidenceJson')) return 'nvidia';
  const report = files.get('report');
  const isGpu =
    report !== undefined && report.length !== snpReportBytes && spdmRequest.every((byte, i) => report[i] === byte);
  if (isGpu) return 'nvidia';
  if (has('report', 'leaf', 'vectors')) return 'amd-snp';
  throw new Rejection('SAMPLE_UNKNOWN', {
    expected: 'files of a known kind of evidence',
    got: [...files.keys()].join(', ').slice(0, 200),
    rule: 'attestation/SPEC.md §7',
  });
}

export interface SampleReport extends SampleVerdict {
  readonly id: string;
  readonly vendor: SampleVendor;
  /** Codes of every check that is not met, in order. */
  readonly codes: readonly string[];
}

/** Whatever the files hold, a report comes out. @throws Rejection SAMPLE_UNKNOWN */
export async function runSample(entry: SampleEntry): Promise<SampleReport> {
  const vendor = sampleVendor(entry);
  const verdict = await runners[vendor](entry).catch(unreadable);
  const codes = [...new Set(verdict.checks.filter(({ status }) => status !== 'met').map(({ code }) => code))];
  return { id: entry.id, vendor, ...verdict, codes };
}

/** Files around the evidence that cannot even be read: nothing in the folder can be relied on. */
function unreadable(error: unknown): SampleVerdict {
  if (!(error instanceof Rejection)) throw error;
  const { expected, got, rule } = error.detail;
  const check: Check = {
    code: error.code,
    claim: 'instance-identity',
    id: 'SAMPLE_FILES',
    status: 'forged',
    got,
    expected,
    rule: 'Every file of the sample can be read.',
    means: meaningOf('SAMPLE_FILES'),
    source: rule,
    action: 'compare the folder with its source',
  };
  return verdictOf('forged', 'contraindicated', [check]);
}

/** Remarks about the time of judgement, which the manifest chose and not whoever made the evidence. */
const remarksOnTime: ReadonlySet<string> = new Set(['SNP_ENDORSEMENT_DATE']);

/**
 * Whether a verdict is the stated one. A sample that is stated to be affirming may carry a remark on the time: it is
 * shown as a warning and is no other verdict on the evidence.
 */
export function isAsStated(
  { authentic, appraisal, codes }: Pick<SampleReport, 'authentic' | 'appraisal' | 'codes'>,
  stated: { readonly authentic: boolean | null; readonly appraisal: Tier | null },
): boolean {
  const remarked = appraisal === 'warning' && codes.every((code) => remarksOnTime.has(code));
  return (
    (stated.authentic ?? authentic) === authentic &&
    [appraisal, ...(remarked ? ['affirming'] : [])].includes(stated.appraisal ?? appraisal)
  );
}
