import { describe, expect, it } from 'vitest';
import { fromHex, toHex } from './bytes.js';
import { derBitString, derBoolean, derCheckDeep, derInteger, derNamedBits, derOid, derTime, readDer } from './der.js';
import { ecdsaFromDer } from './signatures.js';

const node = (hex: string) => readDer(fromHex(hex));
const text = (tag: string, value: string) =>
  node(`${tag}${value.length.toString(16).padStart(2, '0')}${toHex(new TextEncoder().encode(value))}`);

describe('DER', () => {
  it.each([
    '',
    '30',
    '3080',
    '308000',
    '30810100',
    '3082000100',
    '3081',
    '30850000000001',
    '1f8100',
    '3002',
    '300000',
    '30030102',
  ])('refuses the framing %s', (hex) => expect(() => derCheckDeep(node(hex))).toThrow('DER_MALFORMED'));

  it.each([
    ['020100', 0n],
    ['02017f', 127n],
    ['02020080', 128n],
    ['0201ff', -1n],
    ['0202ff7f', -129n],
  ])('reads the integer %s', (hex, value) => expect(derInteger(node(hex))).toBe(value));

  it.each(['0200', '02020001', '0202ffff', '0202007f', '010101'])('refuses the integer %s', (hex) => {
    expect(() => derInteger(node(hex))).toThrow('DER_MALFORMED');
  });

  it('reads object identifiers, minimal only', () => {
    expect(derOid(node('06032a0304'))).toBe('1.2.3.4');
    expect(derOid(node('0603883703'))).toBe('2.999.3');
    expect(derOid(node('06092b060104019c780104'))).toBe('1.3.6.1.4.1.3704.1.4');
    for (const bad of ['0600', '06022a80', '06032a8003', '060b2affffffffffffffffff7f'])
      expect(() => derOid(node(bad))).toThrow('DER_MALFORMED');
  });

  it('reads booleans, bit strings and named bits', () => {
    expect([derBoolean(node('0101ff')), derBoolean(node('010100'))]).toEqual([true, false]);
    expect(() => derBoolean(node('010101'))).toThrow('DER_MALFORMED');
    expect(toHex(derBitString(node('030200aa')))).toBe('aa');
    expect(() => derBitString(node('030201aa'))).toThrow('DER_MALFORMED');
    expect(derNamedBits(node('03020780')).slice(0, 2)).toEqual([true, false]);
    for (const bad of ['0300', '03020881', '03020781', '030101'])
      expect(() => derNamedBits(node(bad))).toThrow('DER_MALFORMED');
  });

  it('reads times as the calendar has them', () => {
    for (const [tag, value] of [
      ['17', '700101000000Z'],
      ['17', '491231235959Z'],
      ['17', '500101000000Z'],
      ['18', '20240229120000Z'],
      ['18', '99991231235959Z'],
    ] as const) {
      const digits = value.length === 13 ? `${Number(value.slice(0, 2)) < 50 ? '20' : '19'}${value}` : value;
      const iso = digits.replace(/^(....)(..)(..)(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z');
      expect(derTime(text(tag, value))).toBe(Date.parse(iso) / 1000);
    }
    for (const bad of [
      '230229000000Z',
      '230100000000Z',
      '231301000000Z',
      '230101240000Z',
      '2301010000Z',
      '230101000000+0100',
    ]) {
      expect(() => derTime(text('17', bad))).toThrow('DER_MALFORMED');
    }
  });

  it('reads an ECDSA signature in its only form', () => {
    expect(ecdsaFromDer(fromHex('3006020101020102'), 'ecdsa-p256-sha256')).toHaveLength(64);
    for (const bad of [
      '3006020100020102',
      '30060201ff020102',
      '3007020101020102 00'.replace(' ', ''),
      '3009020101020102020103',
    ]) {
      expect(() => ecdsaFromDer(fromHex(bad), 'ecdsa-p256-sha256')).toThrow(/SIGNATURE_RANGE|DER_MALFORMED/);
    }
    const order = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551';
    expect(() => ecdsaFromDer(fromHex(`3026022100${order}020101`), 'ecdsa-p256-sha256')).toThrow('SIGNATURE_RANGE');
  });
});
