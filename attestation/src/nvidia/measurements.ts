/**
 * Compares a report's measurements with the golden ones of driver and VBIOS manifest (attestation/EVIDENCE.md §3.5).
 */
import { equalBytes } from '../base/bytes.js';
import type { GoldenMeasurement, Manifest } from './manifest.js';
import type { SpdmReport } from './spdm.js';

/** RIM index of the video decoder's firmware, measured only while NVDEC0 is enabled. */
const nvdec0Index = 35;
const nvdec0Enabled = 0xaa;
const nvdec0Disabled = 0x55;

interface Comparison {
  /** RIM indexes, ascending. */
  readonly matched: readonly number[];
  readonly mismatched: readonly number[];
  readonly skipped: readonly number[];
  /** Active in both manifests: their authors contradict each other. */
  readonly conflicts: readonly number[];
}

/**
 * Every active golden measurement must equal the block of SPDM index i + 1, in one alternative and in length; a block
 * that is not there is a mismatch. Index 35 is skipped while NVDEC0 is disabled and a mismatch in any unknown state.
 */
export function compareMeasurements(
  report: SpdmReport,
  nvdec0: number | undefined,
  manifests: readonly Manifest[],
): Comparison {
  const active = manifests.flatMap((manifest) => manifest.measurements.filter((golden) => golden.active));
  const indexes = active.map((golden) => golden.index);
  const judged = active.map((golden) => ({ index: golden.index, verdict: judge(golden, report, nvdec0) }));
  const having = (verdict: string): number[] =>
    judged
      .filter((item) => item.verdict === verdict)
      .map((item) => item.index)
      .sort((a, b) => a - b);
  return {
    matched: having('matched'),
    mismatched: having('mismatched'),
    skipped: having('skipped'),
    conflicts: [...new Set(indexes.filter((index, at) => indexes.indexOf(index) !== at))],
  };
}

function judge(golden: GoldenMeasurement, report: SpdmReport, nvdec0: number | undefined): string {
  if (golden.index === nvdec0Index) {
    if (nvdec0 === nvdec0Disabled) return 'skipped';
    if (nvdec0 !== nvdec0Enabled) return 'mismatched';
  }
  const seen = report.measurements.get(golden.index + 1);
  const equal = seen !== undefined && golden.alternatives.some((value) => equalBytes(value, seen.value));
  return equal ? 'matched' : 'mismatched';
}
