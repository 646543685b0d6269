import { X509Certificate, createPublicKey, verify } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import { snpSignedBytes, parseSnpReport } from '#attestation';
import { buildSnpReport, signSnpReport } from './report.js';
import { createSimulatedVendor, encodeSimulatedVendor, parseSimulatedVendor, snpReportSigner } from './vendor.js';
import type { SimulatedVendor } from './vendor.js';

const at = 1_800_000_000;
let vendor: SimulatedVendor;
beforeAll(async () => {
  vendor = await createSimulatedVendor({ product: 'Milan', at });
});

it('makes a chain that node:crypto follows from leaf to root', () => {
  const [ark, ask, vcek] = [vendor.ark, vendor.ask, vendor.vcek].map((der) => new X509Certificate(der));
  expect(vcek!.verify(ask!.publicKey)).toBe(true);
  expect(ask!.verify(ark!.publicKey)).toBe(true);
  expect(ark!.verify(ark!.publicKey)).toBe(true);
  expect(ark!.subject).toContain('SIMULATED');
});

it('signs a report that node:crypto accepts', async () => {
  const report = await signSnpReport(buildSnpReport({ VMPL: 1 }), snpReportSigner(vendor.vcekKey));
  const key = createPublicKey(new X509Certificate(vendor.vcek).publicKey.export({ type: 'spki', format: 'pem' }));
  const { signature } = parseSnpReport(report);
  const holds = verify('sha384', report.subarray(0, snpSignedBytes), { key, dsaEncoding: 'ieee-p1363' }, signature);
  expect(holds).toBe(true);
});

it('reads back what it wrote', () => {
  expect(parseSimulatedVendor(encodeSimulatedVendor(vendor))).toEqual(vendor);
  const other = { ...vendor, measurement: new Uint8Array(48).fill(7) };
  expect(parseSimulatedVendor(encodeSimulatedVendor(other))).toEqual(other);
  const short = encodeSimulatedVendor({ ...vendor, measurement: new Uint8Array(47) });
  expect(() => parseSimulatedVendor(short)).toThrow('SIMULATED_VENDOR_FILE');
  expect(() => parseSimulatedVendor('{}')).toThrow('SIMULATED_VENDOR_FILE');
});

it('refuses a field that the report version does not have', () => {
  expect(() => buildSnpReport({ VERSION: 2, LAUNCH_MIT_VECTOR: 1n })).toThrow('SIMULATED_REPORT_FIELD');
  expect(() => buildSnpReport({ REPORT_DATA: new Uint8Array(63) })).toThrow('SIMULATED_REPORT_FIELD');
});
