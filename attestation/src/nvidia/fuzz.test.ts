import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createFakeNvidia } from '#test/fake-nvidia';
import { concatBytes, toBase64, toHex, utf8 } from '../base/bytes.js';
import { CodedError } from '../base/errors.js';
import { readFirmware } from './device.js';
import { parseGpuEvidence } from './evidence.js';
import { parseManifest } from './manifest.js';
import { parseOcspResponse } from './ocsp-response.js';
import { parseReport } from './spdm.js';

/** Mutants of well-formed input are read or refused by code; VERITRAIN_SEED repeats a run, VERITRAIN_FUZZ sets its length. */
it('no reader crashes on mutated input', async () => {
  const vendor = await createFakeNvidia();
  const measurements = new Map([[1, new Uint8Array(48)]]);
  const nonce = new Uint8Array(32);
  const report = await vendor.report({ nonce, measurements, driver: '550.1', vbios: '009f009601000000' });
  const json = { arch: 'HOPPER', nonce: toHex(nonce), evidence: toBase64(report), certificate: toBase64(utf8('x')) };
  const at = Date.parse('2026-03-01T00:00:00Z') / 1000;
  const readers: readonly (readonly [Uint8Array, (bytes: Uint8Array) => unknown])[] = [
    [report, (bytes) => readFirmware(parseReport(bytes))],
    [await vendor.rim('550.1', measurements), parseManifest],
    [await vendor.ocsp(vendor.device[1]!.certificate, vendor.device[2]!, at, 1), parseOcspResponse],
    [utf8(JSON.stringify([json])), parseGpuEvidence],
  ];
  for (const [input, read] of readers) {
    expect(read(input)).toBeDefined();
    const cut = { at: fc.nat(input.length), length: fc.nat(40), put: fc.uint8Array({ maxLength: 40 }) };
    const seed = process.env['VERITRAIN_SEED'];
    fc.assert(
      fc.property(fc.array(fc.record(cut), { minLength: 1, maxLength: 3 }), (cuts) => {
        const mutant = cuts.reduce(
          (bytes, { at, length, put }) => concatBytes(bytes.subarray(0, at), put, bytes.subarray(at + length)),
          input,
        );
        try {
          read(mutant);
        } catch (error) {
          if (!(error instanceof CodedError)) throw error;
        }
      }),
      { numRuns: Number(process.env['VERITRAIN_FUZZ'] ?? 1500), ...(seed !== undefined && { seed: Number(seed) }) },
    );
  }
});
