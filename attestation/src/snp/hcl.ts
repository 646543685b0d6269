/**
 * Azure's paravisor (HCL) report: the SNP or TD report with the runtime claims that its REPORT_DATA covers. The guest
 * cannot choose REPORT_DATA there; freshness comes from a quote by the vTPM key named in the claims.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { copyOf, equalBytes, fromUtf8, isZero, toHex, uintLe } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { hclBytesMax } from '../base/limits.js';
import { snpReportBytes } from './abi.js';

export interface HclReport {
  readonly kind: 'snp' | 'tdx';
  /** SNP report; for TDX the TD report in the same place. */
  readonly report: Uint8Array;
  /** Exact bytes that REPORT_DATA covers. */
  readonly runtimeClaims: Uint8Array;
  readonly claims: unknown;
}

const headerBytes = 32;
const dataHeader = headerBytes + snpReportBytes;
const kinds: Readonly<Record<number, HclReport['kind']>> = { 2: 'snp', 4: 'tdx' };

/** @throws Rejection HCL_MALFORMED */
export function parseHclReport(bytes: Uint8Array): HclReport {
  if (bytes.length < dataHeader + 20 || bytes.length > hclBytesMax)
    refuse('HCL_MALFORMED', `${dataHeader + 20} to ${hclBytesMax} bytes`, `${bytes.length}`);
  if (toHex(bytes.subarray(0, 4)) !== '48434c41') refuse('HCL_MALFORMED', 'magic HCLA', toHex(bytes.subarray(0, 4)));
  const word = (index: number): number => Number(uintLe(bytes, dataHeader + 4 * index, 4));
  const kind = kinds[word(2)];
  const start = dataHeader + 20;
  const end = start + word(4);
  if (kind === undefined || word(3) !== 1 || end > bytes.length || !isZero(bytes.subarray(end))) {
    return refuse(
      'HCL_MALFORMED',
      'report type SNP or TDX, hash SHA-256, claims inside, then zeros',
      `type ${word(2)}, hash ${word(3)}`,
    );
  }
  const runtimeClaims = copyOf(bytes, start, end);
  return { kind, report: copyOf(bytes, headerBytes, dataHeader), runtimeClaims, claims: readJson(runtimeClaims) };
}

/**
 * @param reportData  64 bytes of the verified report
 * @throws Rejection HCL_REPORT_DATA unless it is SHA-256 of the claims and 32 zero bytes
 */
export function checkHclBinding(hcl: HclReport, reportData: Uint8Array): void {
  const digest = sha256(hcl.runtimeClaims);
  if (!equalBytes(reportData.subarray(0, 32), digest) || !isZero(reportData.subarray(32))) {
    refuse('HCL_REPORT_DATA', `${toHex(digest)} and zeros`, toHex(reportData));
  }
}

function readJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(fromUtf8(bytes)) as unknown;
  } catch {
    return refuse('HCL_MALFORMED', 'runtime claims in JSON', 'something else');
  }
}

function refuse(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'attestation/SPEC.md §5.10' });
}
