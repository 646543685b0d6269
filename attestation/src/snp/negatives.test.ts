/** Negatives generated from every accepted real sample: each must be refused, none may crash. */
import { X509Certificate, createPublicKey, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { describeSamples } from '#test/describe-samples';
import { loadSamples, type LoadedSample } from '#test/samples';
import { parsePemCertificates } from '../x509/certificate.js';
import { parseSnpReport, snpFieldsOf, snpReportBytes } from './abi.js';
import { verifySnp } from './verify.js';

const accepted = loadSamples('amd-snp').filter(
  ({ expect: wanted, files }) => wanted?.authentic === true && files.has('report'),
);
const anchors = accepted[0]?.anchors.flatMap(parsePemCertificates).map(({ raw }) => raw) ?? [];
const n384 = BigInt(
  '0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973',
);

async function authenticity(
  sample: LoadedSample,
  change: { report?: Uint8Array; leaf?: Uint8Array; pool?: readonly Uint8Array[] },
) {
  const { at, files } = sample;
  const certificates = change.pool ?? [change.leaf ?? files.get('leaf')!, ...anchors];
  return (await verifySnp({ report: change.report ?? files.get('report')!, certificates, crls: [], at })).authenticity;
}

const flipped = (bytes: Uint8Array, bit: number): Uint8Array => {
  const copy = bytes.slice();
  copy[bit >> 3]! ^= 1 << (bit & 7);
  return copy;
};
const littleEndian = (value: bigint): Uint8Array =>
  Uint8Array.from({ length: 72 }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn));

describeSamples('every accepted sample', () =>
  describe.each(accepted)('from $id', (sample) => {
    const report = sample.files.get('report') ?? new Uint8Array();
    const leaf = sample.files.get('leaf') ?? new Uint8Array();

    it('a bit flipped in the first, middle and last byte of every field', async () => {
      for (const { offset, size, name } of snpFieldsOf(report[0]!)) {
        for (const byte of new Set([offset, offset + (size >> 1), offset + size - 1])) {
          expect(await authenticity(sample, { report: flipped(report, 8 * byte + (byte % 8)) }), name).not.toBe(
            'authentic',
          );
        }
      }
    });

    it('truncated at every length, and with trailing bytes', async () => {
      for (let length = 0; length < snpReportBytes; length++) {
        expect(() => parseSnpReport(report.subarray(0, length))).toThrow('SNP_REPORT_SIZE');
      }
      expect(() => parseSnpReport(Uint8Array.of(...report, 0))).toThrow('SNP_REPORT_SIZE');
      for (const length of [0, 1, 2, 700, leaf.length - 1])
        expect(await authenticity(sample, { leaf: leaf.subarray(0, length) })).toBe('forged');
      expect(await authenticity(sample, { leaf: Uint8Array.of(...leaf, 0) })).toBe('forged');
    });

    it('a bit flipped in the leaf, every 16 bytes', async () => {
      for (let byte = 0; byte < leaf.length; byte += 16) {
        expect(await authenticity(sample, { leaf: flipped(leaf, 8 * byte + ((byte >> 4) % 8)) })).not.toBe('authentic');
      }
    });

    it('r and s out of range, swapped, big-endian, negated', async () => {
      const field = (offset: number) => report.slice(offset, offset + 72);
      const [r, s] = [field(0x2a0), field(0x2e8)];
      const withSignature = (first: Uint8Array, second: Uint8Array) => {
        const copy = report.slice();
        copy.set(first, 0x2a0);
        copy.set(second, 0x2e8);
        return copy;
      };
      const reversed = (half: Uint8Array) => Uint8Array.of(...half.slice(0, 48).reverse(), ...new Uint8Array(24));
      const pairs = [
        [s, r],
        [reversed(r), reversed(s)],
        ...[0n, n384, n384 + 1n, (1n << 384n) - 1n].flatMap((bad) => [
          [littleEndian(bad), s],
          [r, littleEndian(bad)],
        ]),
      ];
      for (const [first, second] of pairs as [Uint8Array, Uint8Array][]) {
        expect(await authenticity(sample, { report: withSignature(first, second) })).toBe('forged');
      }
    });

    it('another product’s or chip’s endorsement', async () => {
      for (const other of accepted) {
        const otherLeaf = other.files.get('leaf')!;
        const sameKey = new X509Certificate(otherLeaf).publicKey.equals(new X509Certificate(leaf).publicKey);
        if (!sameKey) expect(await authenticity(sample, { leaf: otherLeaf }), other.id).toBe('forged');
      }
    });

    it('a pool without the issuer, and the leaf as its own issuer', async () => {
      expect(await authenticity(sample, { pool: [leaf] })).toBe('undecided');
      expect(await authenticity(sample, { pool: anchors })).toBe('undecided');
      expect(await authenticity(sample, { pool: [leaf, leaf, ...anchors] })).toBe('authentic');
    });

    it('has a signature that node:crypto accepts too', () => {
      const { signature, signed } = parseSnpReport(report);
      const key = createPublicKey(new X509Certificate(leaf).publicKey.export({ type: 'spki', format: 'pem' }));
      expect(verify('sha384', signed, { key, dsaEncoding: 'ieee-p1363' }, signature)).toBe(true);
      const issuers = anchors.map((der) => new X509Certificate(der));
      expect(issuers.some((issuer) => new X509Certificate(leaf).verify(issuer.publicKey))).toBe(true);
    });
  }),
);
