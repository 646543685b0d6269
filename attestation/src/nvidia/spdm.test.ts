import { describe, expect, it } from 'vitest';
import { concatBytes, fromHex, uintBe } from '../base/bytes.js';
import { readFirmware } from './device.js';
import { parseReport } from './spdm.js';

const le = (value: number, size: number): Uint8Array => uintBe(value, size).reverse();
const block = (index: number, value: Uint8Array, change: { spec?: number; size?: number; valueSize?: number } = {}) =>
  concatBytes(
    Uint8Array.of(index, change.spec ?? 1),
    le(change.size ?? value.length + 3, 2),
    Uint8Array.of(1),
    le(change.valueSize ?? value.length, 2),
    value,
  );
const field = (type: number, value: Uint8Array, size = value.length): Uint8Array =>
  concatBytes(le(type, 2), le(size, 2), value);
const text = (value: string): Uint8Array => new TextEncoder().encode(`${value}\0`);
const hash = (fill: number): Uint8Array => new Uint8Array(48).fill(fill);

const blocks = [block(1, hash(1)), block(2, hash(2))];
const fields = [
  field(6, fromHex('009f009601000000')),
  field(3, text('550.90.07')),
  field(17, text('1010')),
  field(18, text('0200')),
  field(15, fromHex('383832000000000000')),
];

interface Wanted {
  readonly head?: string;
  readonly response?: string;
  readonly count?: number;
  readonly blocks?: readonly Uint8Array[];
  readonly recordLength?: number;
  readonly fields?: readonly Uint8Array[];
  readonly opaqueLength?: number;
}

/** An unsigned report; only its form is looked at here. */
function build(wanted: Wanted = {}): Uint8Array {
  const record = concatBytes(...(wanted.blocks ?? blocks));
  const opaque = concatBytes(...(wanted.fields ?? fields));
  return concatBytes(
    fromHex(wanted.head ?? '11e001ff'),
    new Uint8Array(33).fill(3),
    fromHex(wanted.response ?? '11600000'),
    Uint8Array.of(wanted.count ?? (wanted.blocks ?? blocks).length),
    le(wanted.recordLength ?? record.length, 3),
    record,
    new Uint8Array(32).fill(4),
    le(wanted.opaqueLength ?? opaque.length, 2),
    opaque,
    new Uint8Array(96).fill(5),
  );
}

describe('parseReport', () => {
  it('reads blocks, fields, both nonces and what is signed', () => {
    const report = parseReport(build());
    expect([...report.measurements.keys()]).toEqual([1, 2]);
    expect(report.measurements.get(2)).toEqual({ type: 1, value: hash(2) });
    expect(report.nonce).toEqual(new Uint8Array(32).fill(3));
    expect(report.responderNonce).toEqual(new Uint8Array(32).fill(4));
    expect(report.signed.length).toBe(build().length - 96);
    let offset = 0;
    for (const item of report.fields) {
      expect(item.offset).toBe(offset);
      offset += item.length;
    }
    expect(offset).toBe(build().length);
  });

  it.each<[string, Wanted, string]>([
    ['another request', { head: '11e101ff' }, 'NVIDIA_REPORT_REQUEST'],
    ['another SPDM version', { head: '12e001ff' }, 'NVIDIA_REPORT_REQUEST'],
    ['a request without signature', { head: '11e000ff' }, 'NVIDIA_REPORT_REQUEST'],
    ['an error response', { response: '117f0000' }, 'NVIDIA_REPORT_RESPONSE'],
    ['an index twice', { blocks: [block(1, hash(1)), block(1, hash(2))] }, 'NVIDIA_REPORT_MEASUREMENT_BLOCK'],
    ['index 0', { blocks: [block(0, hash(1))] }, 'NVIDIA_REPORT_MEASUREMENT_BLOCK'],
    ['index 255', { blocks: [block(255, hash(1))] }, 'NVIDIA_REPORT_MEASUREMENT_BLOCK'],
    ['another specification', { blocks: [block(1, hash(1), { spec: 2 })] }, 'NVIDIA_REPORT_MEASUREMENT_BLOCK'],
    ['a size that disagrees', { blocks: [block(1, hash(1), { size: 50 })] }, 'NVIDIA_REPORT_MEASUREMENT_BLOCK'],
    ['a block less than counted', { count: 3 }, 'NVIDIA_REPORT_'],
    ['a block more than counted', { count: 1 }, 'NVIDIA_REPORT_MEASUREMENT_BLOCK'],
    ['a shorter record', { recordLength: 109 }, 'NVIDIA_REPORT_MEASUREMENT_BLOCK'],
    ['a longer record', { recordLength: 111 }, 'NVIDIA_REPORT_MEASUREMENT_BLOCK'],
    ['a field twice', { fields: [...fields, fields[0]!] }, 'NVIDIA_REPORT_OPAQUE_DATA'],
    ['a field that runs over', { fields: [field(6, hash(0), 49)] }, 'NVIDIA_REPORT_OPAQUE_DATA'],
    ['a shorter opaque part', { opaqueLength: 5 }, 'NVIDIA_REPORT_OPAQUE_DATA'],
    ['a longer opaque part', { opaqueLength: 60_000 }, 'NVIDIA_REPORT_TRUNCATED'],
  ])('refuses %s', (_, wanted, code) => {
    expect(() => parseReport(build(wanted))).toThrow(code);
  });
});

describe('readFirmware', () => {
  const read = (...more: Uint8Array[]) => readFirmware(parseReport(build({ fields: [...fields, ...more] })));

  it('reads versions and manifest id', () => {
    expect(read()).toEqual({
      driverVersion: '550.90.07',
      vbiosVersion: '96.00.9F.00.01',
      vbiosRimId: 'NV_GPU_VBIOS_1010_0200_882_96009F0001',
      opaqueVersion: 0,
    });
    const more = read(
      field(34, le(1, 2)),
      field(36, le(2, 2)),
      field(11, Uint8Array.of(0xaa)),
      field(35, text('GB100')),
    );
    expect(more).toMatchObject({ opaqueVersion: 1, feature: 'ppcie', nvdec0: 0xaa, chipInfo: 'GB100' });
  });

  it.each<[string, readonly Uint8Array[]]>([
    ['an opaque version to come', [...fields, field(34, le(2, 2))]],
    ['an unknown feature', [...fields, field(36, le(3, 2))]],
    ['a short firmware id', [...fields, field(20, new Uint8Array(47))]],
    ['no driver version', fields.filter((_, n) => n !== 1)],
    ['a driver version without NUL', [fields[0]!, field(3, fromHex('353530')), ...fields.slice(2)]],
    ['a driver version with other characters', [fields[0]!, field(3, text('550/../x')), ...fields.slice(2)]],
    ['text behind the NUL', [fields[0]!, field(3, fromHex('35353000313100')), ...fields.slice(2)]],
    ['a longer VBIOS version', [field(6, new Uint8Array(9)), ...fields.slice(1)]],
  ])('refuses %s', (_, changed) => {
    expect(() => readFirmware(parseReport(build({ fields: changed })))).toThrow('NVIDIA_REPORT_FIELD');
  });
});
