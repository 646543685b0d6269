/** SNP reports made up field by field, byte-exact to the real layout. They prove nothing: only a key made here signs them. */
import { snpFieldsOf, snpReportBytes, snpSignedBytes } from '#attestation';
import { Rejection } from '#attestation/base';

/** Field name of the report layout to its value; unsigned integers are written little-endian. */
export type SnpReportValues = Readonly<Record<string, number | bigint | Uint8Array>>;

const defaults: SnpReportValues = {
  VERSION: 3,
  POLICY: 0x30000n,
  SIGNATURE_ALGO: 1,
  REPORT_ID_MA: new Uint8Array(32).fill(0xff),
  CPUID_FAM_ID: 0x19,
  CPUID_MOD_ID: 0x01,
  CPUID_STEP: 1,
  CURRENT_BUILD: 40,
  CURRENT_MINOR: 55,
  CURRENT_MAJOR: 1,
  COMMITTED_BUILD: 40,
  COMMITTED_MINOR: 55,
  COMMITTED_MAJOR: 1,
};

/**
 * An unsigned report of 1184 bytes; fields that are not given are those of a quiet Milan guest, or zero.
 * @throws Rejection SIMULATED_REPORT_FIELD for a name the report version does not have, or a value of the wrong size
 */
export function buildSnpReport(values: SnpReportValues): Uint8Array {
  const all: SnpReportValues = { ...defaults, ...values };
  const fields = new Map(snpFieldsOf(Number(all['VERSION'])).map((field) => [field.name, field]));
  const report = new Uint8Array(snpReportBytes);
  for (const [name, value] of Object.entries(all)) {
    const field = fields.get(name);
    if (field === undefined) {
      if (name in values) refuse(`a field of report version ${String(all['VERSION'])}`, name);
      continue;
    }
    const bytes = typeof value === 'object' ? value : littleEndian(BigInt(value), field.size);
    if (bytes.length !== field.size) refuse(`${field.size} bytes for ${name}`, `${bytes.length}`);
    report.set(bytes, field.offset);
  }
  return report;
}

/**
 * @param sign  ECDSA P-384 with SHA-384 over the bytes given; r ‖ s, big-endian, 96 bytes
 * @returns the report with its signature in the little-endian 72-byte fields
 */
export async function signSnpReport(
  report: Uint8Array,
  sign: (signed: Uint8Array) => Uint8Array | Promise<Uint8Array>,
): Promise<Uint8Array> {
  const signature = await sign(report.slice(0, snpSignedBytes));
  if (signature.length !== 96) refuse('a signature of 96 bytes', `${signature.length}`);
  const signed = report.slice();
  signed.fill(0, snpSignedBytes);
  signed.set(signature.slice(0, 48).reverse(), snpSignedBytes);
  signed.set(signature.slice(48).reverse(), snpSignedBytes + 72);
  return signed;
}

function littleEndian(value: bigint, size: number): Uint8Array {
  const out = new Uint8Array(size);
  for (let i = 0; i < size; i++) out[i] = Number((value >> BigInt(8 * i)) & 0xffn);
  return out;
}

function refuse(expected: string, got: string): never {
  throw new Rejection('SIMULATED_REPORT_FIELD', { expected, got, rule: 'attestation/SPEC.md §5.1' });
}
