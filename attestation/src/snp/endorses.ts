/** Whether a leaf is the one of a report's chip and firmware, as far as both say. What is signed it does not ask. */
import { equalBytes, isZero } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import type { SnpReport } from './abi.js';
import { readTcb, tcbComponents, type Tcb } from './tcb.js';
import type { SnpEndorsement } from './vcek.js';

/** A report that hides its chip may be of any. */
export function endorses(leaf: SnpEndorsement, report: SnpReport): boolean {
  if (leaf.kind !== report.signingKey) return false;
  const reported = tcbOf(report, leaf);
  if (reported === undefined || tcbComponents.some((name) => reported[name] !== leaf.tcb[name])) return false;
  if (leaf.kind === 'vlek' || isZero(report.chipId)) return true;
  const size = leaf.hwid.length;
  return equalBytes(report.chipId.subarray(0, size), leaf.hwid) && isZero(report.chipId.subarray(size));
}

function tcbOf({ reportedTcb }: SnpReport, { layout }: SnpEndorsement): Tcb | undefined {
  try {
    return readTcb(reportedTcb, layout);
  } catch (error) {
    if (error instanceof Rejection) return undefined;
    throw error;
  }
}
