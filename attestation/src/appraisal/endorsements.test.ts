import { describe, expect, it } from 'vitest';
import { encodeCanonical } from '../base/cbor.js';
import { toCbor } from '../base/shape.js';
import {
  encodeEndorsements,
  noEndorsementRecord,
  parseEndorsements,
  type EndorsementRecord,
} from '../records/endorsement-record.js';
import { endorsementsOfRecord } from './endorsements.js';

const some: EndorsementRecord = {
  certificates: [Uint8Array.of(1)],
  crls: [Uint8Array.of(2), Uint8Array.of(3)],
  ocsp: [Uint8Array.of(4)],
  rims: [Uint8Array.of(5)],
  intel: [],
  advisories: [Uint8Array.of(6)],
};

describe('the record of endorsements', () => {
  it('A-H1 is the same bytes for the same material, and reads back', () => {
    expect(parseEndorsements(encodeEndorsements(some))).toEqual(some);
    expect(encodeEndorsements(parseEndorsements(encodeEndorsements(some)))).toEqual(encodeEndorsements(some));
  });

  it('A-H1 is what an appraisal takes', () => {
    const { certificates, crls, rims, ocspAnswers, collateral, advisories } = endorsementsOfRecord(some);
    expect({ certificates, crls, rims }).toEqual({ certificates: some.certificates, crls: some.crls, rims: some.rims });
    expect([ocspAnswers, collateral]).toEqual([[{ response: some.ocsp[0] }], undefined]);
    expect(advisories).toEqual(some.advisories);
  });

  it.each<[string, Partial<Record<string, unknown>>]>([
    ['a list too long', { crls: Array(17).fill(Uint8Array.of(1)) }],
    ['two platforms of Intel', { intel: [Uint8Array.of(1), Uint8Array.of(2)] }],
    ['a manifest too large', { rims: [new Uint8Array(300 * 1024)] }],
    ['something that is no bytes', { ocsp: ['text'] }],
    ['a member that nobody knows', { more: [] }],
  ])('A-H1 with %s is refused, written or read', (_, change) => {
    const bad = { ...noEndorsementRecord, ...change };
    expect(() => encodeEndorsements(bad as unknown as EndorsementRecord)).toThrow('MESSAGE_SHAPE');
    expect(() => parseEndorsements(encodeCanonical(toCbor(bad)))).toThrow('MESSAGE_SHAPE');
  });

  it('A-H1 with a list left out is refused', () => {
    const { advisories: _, ...less } = noEndorsementRecord;
    expect(() => parseEndorsements(encodeCanonical(toCbor(less)))).toThrow('MESSAGE_SHAPE');
  });
});
