/**
 * The GPU's attestation report: an SPDM 1.1 GET_MEASUREMENTS request followed by the signed MEASUREMENTS response
 * (DMTF DSP0274 §10.11; attestation/EVIDENCE.md §3.1, §3.2). Parsing is strict: every length adds up, no index or
 * field comes twice, nothing follows the signature. Little-endian.
 */
import { toHex } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { gpuReportBytesMax } from './constants.js';

const requestBytes = 37;
const signatureBytes = 96;
const nonceBytes = 32;

/** Fields of the opaque data by type number, from 1, from 32 and 255 (attestation/EVIDENCE.md §3.2). */
const low =
  'CERT_ISSUER_NAME CERT_AUTHORITY_KEY_IDENTIFIER DRIVER_VERSION GPU_INFO SKU VBIOS_VERSION MANUFACTURER_ID ' +
  'TAMPER_DETECTION SMC VPR NVDEC0_STATUS MSRSCNT CPRINFO BOARD_ID CHIP_SKU CHIP_SKU_MOD PROJECT PROJECT_SKU ' +
  'PROJECT_SKU_MOD FWID PROTECTED_PCIE_STATUS SWITCH_PDI FLOORSWEPT_PORTS POSITION_ID LOCK_SWITCH_STATUS';
const high = 'GPU_LINK_CONN SYS_ENABLE_STATUS OPAQUE_DATA_VERSION CHIP_INFO FEATURE_FLAG';
const fieldNames: ReadonlyMap<number, string> = new Map([
  ...low.split(' ').map((name, n) => [n + 1, name] as const),
  ...high.split(' ').map((name, n) => [n + 32, name] as const),
  [255, 'INVALID'],
]);

/** One named stretch of the report, for a reader: offset and length in bytes. */
export interface ReportField {
  readonly name: string;
  readonly offset: number;
  readonly length: number;
}

interface MeasurementBlock {
  /** DMTFSpecMeasurementValueType: bits 6:0 what is measured, bit 7 raw instead of a digest. */
  readonly type: number;
  readonly value: Uint8Array;
}

export interface SpdmReport {
  /** The 32 bytes the verifier chose, as the request carried them and the signature covers them. */
  readonly nonce: Uint8Array;
  readonly responderNonce: Uint8Array;
  /** Blocks by their SPDM index, 1…254. */
  readonly measurements: ReadonlyMap<number, MeasurementBlock>;
  /** Opaque values by field name, `OPAQUE_n` for a type without one. */
  readonly opaque: ReadonlyMap<string, Uint8Array>;
  /** Everything the signature covers: the request and the response without its last 96 bytes. */
  readonly signed: Uint8Array;
  /** ECDSA P-384, R then S, 48 bytes each, big-endian. */
  readonly signature: Uint8Array;
  readonly fields: readonly ReportField[];
}

/**
 * @param report GET_MEASUREMENTS request (37 bytes) ‖ MEASUREMENTS response; at most 16 KiB
 * @throws Rejection NVIDIA_REPORT_SIZE, NVIDIA_REPORT_TRUNCATED, NVIDIA_REPORT_TRAILING_BYTES, NVIDIA_REPORT_REQUEST,
 *   NVIDIA_REPORT_RESPONSE, NVIDIA_REPORT_MEASUREMENT_BLOCK, NVIDIA_REPORT_OPAQUE_DATA
 * @source DSP0274 1.1 §10.11.1, tables 46, 48, 52; attestation/EVIDENCE.md §3.1
 */
export function parseReport(report: Uint8Array): SpdmReport {
  if (report.length > gpuReportBytesMax) {
    throw bad('NVIDIA_REPORT_SIZE', `at most ${gpuReportBytesMax} bytes`, `${report.length} bytes`);
  }
  const reader = new Reader(report);
  const head = reader.take('REQUEST', 4);
  if (toHex(head) !== '11e001ff') {
    throw bad('NVIDIA_REPORT_REQUEST', 'SPDM 1.1 GET_MEASUREMENTS, signed, all blocks (11e001ff)', toHex(head));
  }
  const nonce = reader.take('REQUEST_NONCE', nonceBytes);
  reader.take('REQUEST_SLOT_ID', requestBytes - 4 - nonceBytes);
  const response = reader.take('RESPONSE', 4);
  if (response[0] !== 0x11 || response[1] !== 0x60) {
    throw bad('NVIDIA_REPORT_RESPONSE', 'SPDM 1.1 MEASUREMENTS (1160…)', toHex(response));
  }
  const count = reader.uint('BLOCK_COUNT', 1);
  const measurements = readBlocks(reader, count, reader.uint('MEASUREMENT_RECORD_LENGTH', 3));
  const responderNonce = reader.take('RESPONDER_NONCE', nonceBytes);
  const opaque = readOpaque(reader, reader.uint('OPAQUE_LENGTH', 2));
  const signed = report.subarray(0, reader.offset);
  const signature = reader.take('SIGNATURE', signatureBytes);
  if (reader.offset !== report.length) {
    throw bad('NVIDIA_REPORT_TRAILING_BYTES', `${reader.offset} bytes`, `${report.length} bytes`);
  }
  return { nonce, responderNonce, measurements, opaque, signed, signature, fields: reader.fields };
}

/** Blocks: index u8, specification u8 = 1 (DMTF), size u16, then type u8, value size u16 = size − 3, value. */
function readBlocks(reader: Reader, count: number, length: number): Map<number, MeasurementBlock> {
  const end = reader.offset + length;
  const blocks = new Map<number, MeasurementBlock>();
  const code = 'NVIDIA_REPORT_MEASUREMENT_BLOCK';
  for (let n = 0; n < count; n++) {
    const head = reader.take(`BLOCK_HEADER_${n + 1}`, 7);
    const index = head[0]!;
    const size = head[2]! | (head[3]! << 8);
    const valueSize = head[5]! | (head[6]! << 8);
    if (index === 0 || index === 255 || blocks.has(index))
      throw bad(code, 'indexes 1…254, each once', `index ${index}`);
    if (head[1] !== 1) throw bad(code, 'measurement specification 1 (DMTF)', `${head[1]}`);
    if (size !== valueSize + 3) throw bad(code, `block size ${valueSize + 3}`, `${size}`);
    blocks.set(index, { type: head[4]!, value: reader.take(`MEASUREMENT_${index}`, valueSize) });
  }
  if (reader.offset !== end) throw bad(code, `${length} bytes of blocks`, `${length + reader.offset - end} bytes`);
  return blocks;
}

/** Opaque data: type u16, size u16, value, until the declared length is used up exactly. */
function readOpaque(reader: Reader, length: number): Map<string, Uint8Array> {
  const end = reader.offset + length;
  const values = new Map<string, Uint8Array>();
  while (reader.offset < end) {
    const head = reader.take('OPAQUE_HEADER', 4);
    const type = head[0]! | (head[1]! << 8);
    const name = fieldNames.get(type) ?? `OPAQUE_${type}`;
    if (values.has(name)) throw bad('NVIDIA_REPORT_OPAQUE_DATA', 'each field once', `${name} twice`);
    values.set(name, reader.take(name, head[2]! | (head[3]! << 8)));
  }
  if (reader.offset !== end) {
    throw bad('NVIDIA_REPORT_OPAQUE_DATA', `${length} bytes of fields`, `${length + reader.offset - end} bytes`);
  }
  return values;
}

class Reader {
  offset = 0;
  readonly fields: ReportField[] = [];

  constructor(private readonly bytes: Uint8Array) {}

  take(name: string, length: number): Uint8Array {
    if (this.offset + length > this.bytes.length) {
      const got = `${this.bytes.length - this.offset} bytes left at offset ${this.offset}`;
      throw bad('NVIDIA_REPORT_TRUNCATED', `${length} bytes of ${name}`, got);
    }
    this.fields.push({ name, offset: this.offset, length });
    this.offset += length;
    return this.bytes.subarray(this.offset - length, this.offset);
  }

  uint(name: string, size: number): number {
    return this.take(name, size).reduceRight((value, byte) => value * 256 + byte, 0);
  }
}

function bad(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, { expected, got, rule: 'DSP0274 1.1 §10.11; attestation/EVIDENCE.md §3.1' });
}
