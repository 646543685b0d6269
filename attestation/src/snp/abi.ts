/**
 * The SEV-SNP attestation report: 1184 bytes, little-endian (AMD 56860, table ATTESTATION_REPORT). The table below is
 * the only place with offsets: parser, dump and the generated negatives in the tests read it.
 */
import { concatBytes, copyOf, isZero, toHex, uintLe } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';

export const snpReportBytes = 0x4a0;
/** Bytes 0 to here are signed. */
export const snpSignedBytes = 0x2a0;

export interface SnpField {
  readonly name: string;
  readonly offset: number;
  readonly size: number;
  /** `zero`: reserved, must be zero. `uint`: little-endian. */
  readonly form: 'uint' | 'bytes' | 'tcb' | 'zero' | 'signature';
  /** First and last report version that has the field; all versions when absent. */
  readonly from?: number;
  readonly to?: number;
}

const field = (name: string, offset: number, size: number, form: SnpField['form'], from = 2, to = 5): SnpField => ({
  name,
  offset,
  size,
  form,
  from,
  to,
});

export const snpReportFields: readonly SnpField[] = [
  field('VERSION', 0x000, 4, 'uint'),
  field('GUEST_SVN', 0x004, 4, 'uint'),
  field('POLICY', 0x008, 8, 'uint'),
  field('FAMILY_ID', 0x010, 16, 'bytes'),
  field('IMAGE_ID', 0x020, 16, 'bytes'),
  field('VMPL', 0x030, 4, 'uint'),
  field('SIGNATURE_ALGO', 0x034, 4, 'uint'),
  field('CURRENT_TCB', 0x038, 8, 'tcb'),
  field('PLATFORM_INFO', 0x040, 8, 'uint'),
  field('FLAGS', 0x048, 4, 'uint'),
  field('RESERVED_04C', 0x04c, 4, 'zero'),
  field('REPORT_DATA', 0x050, 64, 'bytes'),
  field('MEASUREMENT', 0x090, 48, 'bytes'),
  field('HOST_DATA', 0x0c0, 32, 'bytes'),
  field('ID_KEY_DIGEST', 0x0e0, 48, 'bytes'),
  field('AUTHOR_KEY_DIGEST', 0x110, 48, 'bytes'),
  field('REPORT_ID', 0x140, 32, 'bytes'),
  field('REPORT_ID_MA', 0x160, 32, 'bytes'),
  field('REPORTED_TCB', 0x180, 8, 'tcb'),
  field('RESERVED_188', 0x188, 24, 'zero', 2, 2),
  field('CPUID_FAM_ID', 0x188, 1, 'uint', 3),
  field('CPUID_MOD_ID', 0x189, 1, 'uint', 3),
  field('CPUID_STEP', 0x18a, 1, 'uint', 3),
  field('RESERVED_18B', 0x18b, 21, 'zero', 3),
  field('CHIP_ID', 0x1a0, 64, 'bytes'),
  field('COMMITTED_TCB', 0x1e0, 8, 'tcb'),
  field('CURRENT_BUILD', 0x1e8, 1, 'uint'),
  field('CURRENT_MINOR', 0x1e9, 1, 'uint'),
  field('CURRENT_MAJOR', 0x1ea, 1, 'uint'),
  field('RESERVED_1EB', 0x1eb, 1, 'zero'),
  field('COMMITTED_BUILD', 0x1ec, 1, 'uint'),
  field('COMMITTED_MINOR', 0x1ed, 1, 'uint'),
  field('COMMITTED_MAJOR', 0x1ee, 1, 'uint'),
  field('RESERVED_1EF', 0x1ef, 1, 'zero'),
  field('LAUNCH_TCB', 0x1f0, 8, 'tcb'),
  field('RESERVED_1F8', 0x1f8, 168, 'zero', 2, 4),
  field('LAUNCH_MIT_VECTOR', 0x1f8, 8, 'uint', 5),
  field('CURRENT_MIT_VECTOR', 0x200, 8, 'uint', 5),
  field('RESERVED_208', 0x208, 152, 'zero', 5),
  field('SIGNATURE_R', 0x2a0, 72, 'signature'),
  field('SIGNATURE_S', 0x2e8, 72, 'signature'),
  field('RESERVED_330', 0x330, 368, 'zero'),
];

export interface SnpVersion {
  readonly major: number;
  readonly minor: number;
  readonly build: number;
}

export interface SnpReport {
  readonly version: number;
  readonly guestSvn: number;
  readonly policy: bigint;
  readonly familyId: Uint8Array;
  readonly imageId: Uint8Array;
  readonly vmpl: number;
  readonly platformInfo: bigint;
  readonly authorKeyEnabled: boolean;
  readonly chipKeyMasked: boolean;
  readonly signingKey: 'vcek' | 'vlek';
  readonly reportData: Uint8Array;
  readonly measurement: Uint8Array;
  readonly hostData: Uint8Array;
  readonly idKeyDigest: Uint8Array;
  readonly authorKeyDigest: Uint8Array;
  readonly reportId: Uint8Array;
  readonly chipId: Uint8Array;
  /** Version 3 and later. */
  readonly cpuid?: { readonly family: number; readonly model: number; readonly stepping: number };
  /** Eight bytes each, in the layout of the product: see tcb.ts. */
  readonly currentTcb: Uint8Array;
  readonly reportedTcb: Uint8Array;
  readonly committedTcb: Uint8Array;
  readonly launchTcb: Uint8Array;
  readonly currentVersion: SnpVersion;
  readonly committedVersion: SnpVersion;
  /** Version 5. */
  readonly launchMitigations?: bigint;
  readonly currentMitigations?: bigint;
  /** r ‖ s, big-endian, 96 bytes. */
  readonly signature: Uint8Array;
  readonly signed: Uint8Array;
}

export function snpFieldsOf(version: number): readonly SnpField[] {
  return snpReportFields.filter((entry) => version >= (entry.from ?? 2) && version <= (entry.to ?? 5));
}

/**
 * @throws Rejection SNP_REPORT_SIZE, SNP_REPORT_VERSION, SNP_REPORT_RESERVED, SNP_REPORT_SIGNATURE_ALGO,
 *   SNP_REPORT_FLAGS, SNP_REPORT_VMPL, SNP_REPORT_SIGNATURE_PADDING
 * @source AMD 56860, ATTESTATION_REPORT; attestation/SPEC.md §5.1
 */
export function parseSnpReport(input: Uint8Array): SnpReport {
  if (input.length !== snpReportBytes) refuse('SNP_REPORT_SIZE', `${snpReportBytes} bytes`, `${input.length}`);
  const bytes = copyOf(input);
  const version = Number(uintLe(bytes, 0, 4));
  if (version < 2 || version > 5) refuse('SNP_REPORT_VERSION', 'version 2 to 5', `${version}`);
  const fields = new Map(snpFieldsOf(version).map((entry) => [entry.name, entry]));
  const at = (name: string): Uint8Array =>
    bytes.subarray(fields.get(name)!.offset, fields.get(name)!.offset + fields.get(name)!.size);
  const uint = (name: string): bigint => uintLe(at(name), 0, fields.get(name)!.size);
  const small = (name: string): number => Number(uint(name));
  for (const entry of fields.values()) {
    if (entry.form === 'zero' && !isZero(at(entry.name)))
      refuse('SNP_REPORT_RESERVED', `${entry.name} of zeros`, toHex(at(entry.name)));
  }
  if (small('SIGNATURE_ALGO') !== 1)
    refuse('SNP_REPORT_SIGNATURE_ALGO', '1 (ECDSA P-384 with SHA-384)', `${uint('SIGNATURE_ALGO')}`);
  if (small('VMPL') > 3) refuse('SNP_REPORT_VMPL', '0 to 3', `${uint('VMPL')}`);
  const flags = readFlags(small('FLAGS'));
  return {
    version,
    guestSvn: small('GUEST_SVN'),
    policy: checkPolicyReserved(uint('POLICY')),
    familyId: at('FAMILY_ID'),
    imageId: at('IMAGE_ID'),
    vmpl: small('VMPL'),
    platformInfo: uint('PLATFORM_INFO'),
    ...flags,
    reportData: at('REPORT_DATA'),
    measurement: at('MEASUREMENT'),
    hostData: at('HOST_DATA'),
    idKeyDigest: at('ID_KEY_DIGEST'),
    authorKeyDigest: at('AUTHOR_KEY_DIGEST'),
    reportId: at('REPORT_ID'),
    chipId: at('CHIP_ID'),
    ...(version >= 3 && {
      cpuid: { family: small('CPUID_FAM_ID'), model: small('CPUID_MOD_ID'), stepping: small('CPUID_STEP') },
    }),
    currentTcb: at('CURRENT_TCB'),
    reportedTcb: at('REPORTED_TCB'),
    committedTcb: at('COMMITTED_TCB'),
    launchTcb: at('LAUNCH_TCB'),
    currentVersion: { major: small('CURRENT_MAJOR'), minor: small('CURRENT_MINOR'), build: small('CURRENT_BUILD') },
    committedVersion: {
      major: small('COMMITTED_MAJOR'),
      minor: small('COMMITTED_MINOR'),
      build: small('COMMITTED_BUILD'),
    },
    ...(version >= 5 && {
      launchMitigations: uint('LAUNCH_MIT_VECTOR'),
      currentMitigations: uint('CURRENT_MIT_VECTOR'),
    }),
    signature: concatBytes(signatureHalf(at('SIGNATURE_R')), signatureHalf(at('SIGNATURE_S'))),
    signed: bytes.subarray(0, snpSignedBytes),
  };
}

export interface SnpFieldLine {
  readonly offset: number;
  readonly size: number;
  readonly name: string;
  readonly value: string;
}

/** Every field of a report with its offset, for people; reads whatever has the right length, judges nothing. */
export function describeSnpReport(bytes: Uint8Array): SnpFieldLine[] {
  if (bytes.length !== snpReportBytes) refuse('SNP_REPORT_SIZE', `${snpReportBytes} bytes`, `${bytes.length}`);
  const version = Math.min(5, Math.max(2, Number(uintLe(bytes, 0, 4))));
  return snpFieldsOf(version).map(({ name, offset, size, form }) => {
    const value = bytes.subarray(offset, offset + size);
    return { offset, size, name, value: form === 'uint' ? `0x${uintLe(value, 0, size).toString(16)}` : toHex(value) };
  });
}

/** Offset 0x048: bit 0 AUTHOR_KEY_EN, bit 1 MASK_CHIP_KEY, bits 4:2 SIGNING_KEY. */
function readFlags(flags: number): Pick<SnpReport, 'authorKeyEnabled' | 'chipKeyMasked' | 'signingKey'> {
  const signingKey = (flags >>> 2) & 7;
  if (flags >>> 5 !== 0 || signingKey > 1) {
    refuse('SNP_REPORT_FLAGS', 'SIGNING_KEY 0 (VCEK) or 1 (VLEK), bits 31:5 zero', `0x${(flags >>> 0).toString(16)}`);
  }
  return {
    authorKeyEnabled: (flags & 1) !== 0,
    chipKeyMasked: (flags & 2) !== 0,
    signingKey: signingKey === 1 ? 'vlek' : 'vcek',
  };
}

function checkPolicyReserved(policy: bigint): bigint {
  if (((policy >> 17n) & 1n) !== 1n || policy >> 26n !== 0n) {
    refuse('SNP_REPORT_POLICY_RESERVED', 'bit 17 set, bits 63:26 zero', `0x${policy.toString(16)}`);
  }
  return policy;
}

/** 72 bytes little-endian of which 48 count, to big-endian. */
function signatureHalf(half: Uint8Array): Uint8Array {
  if (!isZero(half.subarray(48)))
    refuse('SNP_REPORT_SIGNATURE_PADDING', 'bytes 48 to 71 of zeros', toHex(half.subarray(48)));
  return copyOf(half, 0, 48).reverse();
}

function refuse(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'AMD 56860 ATTESTATION_REPORT; attestation/SPEC.md §5.1' });
}
