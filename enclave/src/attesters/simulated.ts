/**
 * A pretend SEV-SNP device for development and tests: reports byte-exact to the real layout, signed through a vendor
 * hierarchy made on this machine. Every certificate says SIMULATED and no shipped policy but the development one
 * accepts it. This file is no part of a measured guest; it is loaded only when asked for by name.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { productLayout, tcbOffsets, type Tcb } from '#attestation';
import { ConfigurationError } from '#attestation/base';
import {
  buildSnpReport,
  parseSimulatedVendor,
  signSnpReport,
  simulatedMeasurement,
  snpReportSigner,
  type SimulatedVendor,
  type SnpReportValues,
} from '#libs/simulated-vendor';
import type { Attester } from './attester.js';

/** @throws ConfigurationError SIMULATED_VENDOR, SIMULATED_VENDOR_FILE */
export function openSimulated(vendorFile: string | undefined): Attester {
  const vendor = parseSimulatedVendor(read(vendorFile));
  const sign = snpReportSigner(vendor.vcekKey);
  const reportId = new Uint8Array(randomBytes(32));
  return {
    kind: 'simulated',
    async collect(reportData) {
      const report = buildSnpReport({ ...guestOf(vendor), REPORT_ID: reportId, REPORT_DATA: reportData });
      return {
        kind: 'simulated',
        report: await signSnpReport(report, sign),
        certificates: [vendor.vcek, vendor.ask, vendor.ark],
      };
    },
  };
}

function guestOf(vendor: SimulatedVendor): SnpReportValues {
  const tcb = tcbBytes(vendor);
  const chipId = new Uint8Array(64);
  chipId.set(vendor.hwid);
  return {
    MEASUREMENT: vendor.measurement ?? simulatedMeasurement,
    CHIP_ID: chipId,
    CURRENT_TCB: tcb,
    COMMITTED_TCB: tcb,
    LAUNCH_TCB: tcb,
    REPORTED_TCB: tcb,
  };
}

function tcbBytes(vendor: SimulatedVendor): Uint8Array {
  const bytes = new Uint8Array(8);
  for (const [component, offset] of Object.entries(tcbOffsets[productLayout[vendor.product]])) {
    bytes[offset] = vendor.tcb[component as keyof Tcb] ?? 0;
  }
  return bytes;
}

function read(path: string | undefined): string {
  try {
    if (path !== undefined) return readFileSync(path, 'utf8');
  } catch {
    // falls through to the same refusal: the file is needed either way
  }
  throw new ConfigurationError('SIMULATED_VENDOR', {
    expected: '--vendor FILE with the simulated vendor',
    got: path ?? 'nothing',
    rule: 'enclave/SPEC.md, attesters',
    action: 'make one with `veritrain up`, or name its file',
  });
}
