/** Which runner judges an entry: decided by the files it has, so that a new folder needs no code. */
import type { Check } from '../appraisal/checks.js';
import { Rejection } from '../errors.js';
import { snpReportBytes } from '../snp/abi.js';
import { runCompositeSample } from './composite.js';
import { runIntelSample } from './intel.js';
import { runNitroSample } from './nitro.js';
import { runNvidiaSample } from './nvidia.js';
import { runSnpSample } from './snp.js';
import type { SampleEntry, SampleRunner, SampleVerdict } from './types.js';

export type SampleVendor = 'amd-snp' | 'nvidia' | 'intel' | 'aws-nitro' | 'composite';

const runners: Readonly<Record<SampleVendor, SampleRunner>> = {
  composite: runCompositeSample,
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
    rule: 'attestation SPEC §7',
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
    status: 'forged',
    got,
    expected,
    rule: 'Every file of the sample can be read.',
    source: rule,
    action: 'compare the folder with its source',
  };
  return { authentic: false, appraisal: 'contraindicated', checks: [check] };
}
