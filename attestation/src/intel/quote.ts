/**
 * Intel SGX and TDX quotes as bytes: layouts as data, one strict reader. Nothing here judges a quote.
 * Source: Intel SGX DCAP ECDSA Quote Library reference (version 3), TDX DCAP Quoting Library (versions 4 and 5).
 * All integers little-endian; signatures and keys big-endian.
 */
import { toHex, uintLe } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { quoteBytesMax } from './limits.js';

type Layout = readonly (readonly [name: string, size: number])[];
type Fields<L extends Layout> = Readonly<Record<L[number][0], Uint8Array>>;

const HEADER_SGX = [
  ['version', 2],
  ['attestationKeyType', 2],
  ['teeType', 4],
  ['qeSvn', 2],
  ['pceSvn', 2],
  ['qeVendorId', 16],
  ['userData', 20],
] as const satisfies Layout;

const BODY_DESCRIPTOR = [
  ['bodyType', 2],
  ['bodySize', 4],
] as const satisfies Layout;

const SGX_REPORT = [
  ['cpuSvn', 16],
  ['miscSelect', 4],
  ['reserved1', 12],
  ['isvExtProdId', 16],
  ['attributes', 16],
  ['mrEnclave', 32],
  ['reserved2', 32],
  ['mrSigner', 32],
  ['reserved3', 32],
  ['configId', 64],
  ['isvProdId', 2],
  ['isvSvn', 2],
  ['configSvn', 2],
  ['reserved4', 42],
  ['isvFamilyId', 16],
  ['reportData', 64],
] as const satisfies Layout;

const TD10_REPORT = [
  ['teeTcbSvn', 16],
  ['mrSeam', 48],
  ['mrSignerSeam', 48],
  ['seamAttributes', 8],
  ['tdAttributes', 8],
  ['xfam', 8],
  ['mrTd', 48],
  ['mrConfigId', 48],
  ['mrOwner', 48],
  ['mrOwnerConfig', 48],
  ['rtmr0', 48],
  ['rtmr1', 48],
  ['rtmr2', 48],
  ['rtmr3', 48],
  ['reportData', 64],
] as const satisfies Layout;

const TD15_EXTENSION = [
  ['teeTcbSvn2', 16],
  ['mrServiceTd', 48],
] as const satisfies Layout;

const QUOTE_SIGNATURE = [
  ['quoteSignature', 64],
  ['attestationKey', 64],
] as const satisfies Layout;

const QE_SIGNATURE = [['qeReportSignature', 64]] as const satisfies Layout;

const INTEL_QE_VENDOR = '939a7233f79c4ca9940a0db3957f0607';
const ECDSA_P256 = 2;
const PCK_CHAIN = 5;
const QE_CERTIFICATION = 6;
const TEE_SGX = 0;
const TEE_TDX = 0x81;

export type SgxReport = Fields<typeof SGX_REPORT>;
export type TdReport = Fields<typeof TD10_REPORT>;
type TdReport15 = TdReport & Fields<typeof TD15_EXTENSION>;

export type QuoteBody =
  | { readonly kind: 'sgx'; readonly report: SgxReport }
  | { readonly kind: 'td10'; readonly report: TdReport }
  | { readonly kind: 'td15'; readonly report: TdReport15 };

/** One field as it lies in the quote, for a human-readable dump. */
export interface QuoteField {
  readonly name: string;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

export interface Quote {
  readonly version: 3 | 4 | 5;
  readonly header: Fields<typeof HEADER_SGX>;
  readonly body: QuoteBody;
  /** Header, body descriptor (version 5) and body: what the attestation key signs. */
  readonly signedBytes: Uint8Array;
  /** ECDSA P-256, r‖s. */
  readonly quoteSignature: Uint8Array;
  /** P-256 point x‖y. */
  readonly attestationKey: Uint8Array;
  readonly qeReport: SgxReport;
  readonly qeReportBytes: Uint8Array;
  readonly qeReportSignature: Uint8Array;
  readonly qeAuthData: Uint8Array;
  /** PEM: PCK leaf, intermediate, root. */
  readonly pckChain: Uint8Array;
  /** Bytes after the declared length. */
  readonly trailing: Uint8Array;
  readonly fields: readonly QuoteField[];
}

/**
 * Reads a quote of version 3 (SGX), 4 or 5 (SGX or TDX) with a P-256 attestation key and a PEM certificate chain.
 *
 * @throws Rejection QUOTE_TOO_LARGE, QUOTE_TRUNCATED, QUOTE_VERSION, QUOTE_KEY_TYPE, QUOTE_TEE_TYPE, QUOTE_QE_VENDOR,
 *         QUOTE_BODY_TYPE, QUOTE_BODY_SIZE, QUOTE_SIGNATURE_LENGTH, QUOTE_CERTIFICATION_TYPE
 * @source attestation/EVIDENCE.md §5.1
 */
export function parseQuote(bytes: Uint8Array): Quote {
  if (bytes.length > quoteBytesMax) fail('QUOTE_TOO_LARGE', `at most ${quoteBytesMax} bytes`, `${bytes.length} bytes`);
  const reader = new FieldReader(bytes);
  const header = reader.fields('header', HEADER_SGX);
  const version = checkHeader(header);
  const body = readBody(reader, version, integerLe(header.teeType));
  const signedBytes = bytes.subarray(0, reader.offset);

  const end = reader.section('signatureDataLength', 4);
  const signature = reader.fields('signature', QUOTE_SIGNATURE);
  if (version !== 3) {
    expectCertificationType(reader, 'qeCertificationType', QE_CERTIFICATION);
    const inner = reader.section('qeCertificationLength', 4);
    if (inner !== end) fail('QUOTE_SIGNATURE_LENGTH', `QE certification data up to ${end}`, `up to ${inner}`);
  }
  const qeReportStart = reader.offset;
  const qeReport = reader.fields('qeReport', SGX_REPORT);
  const qeReportBytes = bytes.subarray(qeReportStart, reader.offset);
  const { qeReportSignature } = reader.fields('qe', QE_SIGNATURE);
  const authEnd = reader.section('qeAuthDataLength', 2);
  const qeAuthData = reader.take('qeAuthData', authEnd - reader.offset);
  expectCertificationType(reader, 'certificationType', PCK_CHAIN);
  const chainEnd = reader.section('certificationLength', 4);
  const pckChain = reader.take('pckChain', chainEnd - reader.offset);
  if (chainEnd !== end) fail('QUOTE_SIGNATURE_LENGTH', `signature data up to ${chainEnd}`, `up to ${end}`);

  return {
    version,
    header,
    body,
    signedBytes,
    ...signature,
    qeReport,
    qeReportBytes,
    qeReportSignature,
    qeAuthData,
    pckChain,
    trailing: reader.take('trailing', bytes.length - end),
    fields: reader.seen,
  };
}

/** A whole field as unsigned little-endian integer; at most 4 bytes here. */
export function integerLe(field: Uint8Array): number {
  return Number(uintLe(field, 0, field.length));
}

function checkHeader(header: Fields<typeof HEADER_SGX>): 3 | 4 | 5 {
  const version = integerLe(header.version);
  if (version !== 3 && version !== 4 && version !== 5) return fail('QUOTE_VERSION', '3, 4 or 5', `${version}`);
  const keyType = integerLe(header.attestationKeyType);
  if (keyType !== ECDSA_P256) fail('QUOTE_KEY_TYPE', '2 (ECDSA P-256)', `${keyType}`);
  const tee = integerLe(header.teeType);
  if (tee !== TEE_SGX && (version === 3 || tee !== TEE_TDX)) {
    fail('QUOTE_TEE_TYPE', version === 3 ? '0 (SGX)' : '0 (SGX) or 0x81 (TDX)', `0x${tee.toString(16)}`);
  }
  const vendor = toHex(header.qeVendorId);
  if (vendor !== INTEL_QE_VENDOR) fail('QUOTE_QE_VENDOR', INTEL_QE_VENDOR, vendor);
  return version;
}

function readBody(reader: FieldReader, version: 3 | 4 | 5, tee: number): QuoteBody {
  const kind = version === 5 ? readBodyKind(reader, tee) : tee === TEE_TDX ? 'td10' : 'sgx';
  switch (kind) {
    case 'sgx':
      return { kind, report: reader.fields('body', SGX_REPORT) };
    case 'td10':
      return { kind, report: reader.fields('body', TD10_REPORT) };
    case 'td15':
      return { kind, report: { ...reader.fields('body', TD10_REPORT), ...reader.fields('body', TD15_EXTENSION) } };
  }
}

function readBodyKind(reader: FieldReader, tee: number): QuoteBody['kind'] {
  const descriptor = reader.fields('descriptor', BODY_DESCRIPTOR);
  const type = integerLe(descriptor.bodyType);
  const kind =
    tee === TEE_SGX ? (type === 1 ? 'sgx' : undefined) : type === 2 ? 'td10' : type === 3 ? 'td15' : undefined;
  if (kind === undefined) return fail('QUOTE_BODY_TYPE', tee === TEE_SGX ? '1' : '2 or 3', `${type}`);
  const expected = {
    sgx: sizeOf(SGX_REPORT),
    td10: sizeOf(TD10_REPORT),
    td15: sizeOf(TD10_REPORT) + sizeOf(TD15_EXTENSION),
  };
  const size = integerLe(descriptor.bodySize);
  if (size !== expected[kind]) fail('QUOTE_BODY_SIZE', `${expected[kind]}`, `${size}`);
  return kind;
}

function expectCertificationType(reader: FieldReader, name: string, expected: number): void {
  const type = integerLe(reader.take(name, 2));
  if (type !== expected) fail('QUOTE_CERTIFICATION_TYPE', `${name} ${expected}`, `${type}`);
}

function sizeOf(layout: Layout): number {
  return layout.reduce((sum, [, size]) => sum + size, 0);
}

class FieldReader {
  readonly seen: QuoteField[] = [];
  offset = 0;

  constructor(private readonly bytes: Uint8Array) {}

  take(name: string, size: number): Uint8Array {
    const end = this.offset + size;
    if (end > this.bytes.length) {
      fail('QUOTE_TRUNCATED', `${name} of ${size} bytes at offset ${this.offset}`, `${this.bytes.length} bytes in all`);
    }
    const bytes = this.bytes.subarray(this.offset, end);
    this.seen.push({ name, offset: this.offset, bytes });
    this.offset = end;
    return bytes;
  }

  /** Reads a length and returns the offset where the section that it opens ends. */
  section(name: string, size: number): number {
    const length = integerLe(this.take(name, size));
    const end = this.offset + length;
    if (end > this.bytes.length)
      fail('QUOTE_TRUNCATED', `${name} ${length}`, `${this.bytes.length - this.offset} bytes left`);
    return end;
  }

  fields<const L extends Layout>(prefix: string, layout: L): Fields<L> {
    const entries = layout.map(([name, size]) => [name, this.take(`${prefix}.${name}`, size)] as const);
    return Object.fromEntries(entries) as Fields<L>;
  }
}

function fail(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'attestation/EVIDENCE.md §5.1' });
}
