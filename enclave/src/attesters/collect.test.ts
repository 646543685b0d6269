import { describe, expect, it } from 'vitest';
import { decodeCanonical, toHex } from '#attestation/base';
import { expectedGpuNonce, expectedReportData, parseSessionEvidence, verifySessionProof } from '#attestation/records';
import { createSessionKeys } from '../keys.js';
import type { Attester, EvidenceKind } from './attester.js';
import { collectEvidence } from './collect.js';
import type { NvidiaGpus } from './nvidia.js';
import { openAttester, openGpus } from './open.js';

const nonce = new Uint8Array(32).fill(7);
const keys = await createSessionKeys({
  provider: new Uint8Array(20).fill(4),
  chainId: 31337,
  registry: new Uint8Array(20).fill(5),
});

/** A device whose report is what it was asked to bind, with its name in front. */
function device(kind: EvidenceKind, mark: number): Attester {
  return {
    kind,
    collect: (asked) =>
      Promise.resolve({ kind, report: Uint8Array.of(mark, ...asked), certificates: [Uint8Array.of(mark)] }),
  };
}

function gpusOf(...attesters: Attester[]): NvidiaGpus {
  const mode = { ccFeature: 1, devToolsMode: 0, environment: 2, multiGpuMode: 0, driverVersion: '550.90.07' } as const;
  return {
    attesters,
    mode: () => ({ ...mode, gpuCount: attesters.length }),
    setReady: () => undefined,
    close: () => undefined,
  };
}

describe('the evidence of a session', () => {
  it('binds GPUs and their stated mode into the CPU’s report', async () => {
    const machine = { cpu: device('snp', 1), gpus: gpusOf(device('nvidia-gpu', 2), device('nvidia-gpu', 3)) };
    const evidence = parseSessionEvidence(await collectEvidence(machine, nonce, keys));
    verifySessionProof(evidence);
    expect(evidence.gpus.map(({ report }) => toHex(report))).toEqual(
      [2, 3].map((mark) => toHex(Uint8Array.of(mark, ...expectedGpuNonce(evidence)))),
    );
    expect(toHex(evidence.cpu.report)).toBe(toHex(Uint8Array.of(1, ...expectedReportData(evidence))));
    const stated = (decodeCanonical(evidence.claims) as ReadonlyMap<string, ReadonlyMap<string, unknown>>).get('gpu');
    expect([stated?.get('gpuCount'), stated?.get('driverVersion')]).toEqual([2, '550.90.07']);
    const fewer = { ...evidence, gpus: evidence.gpus.slice(1) };
    expect(toHex(expectedReportData(fewer))).not.toBe(toHex(expectedReportData(evidence)));
  });

  it('states nothing of GPUs where there are none', async () => {
    const evidence = parseSessionEvidence(await collectEvidence({ cpu: device('tdx', 1) }, nonce, keys));
    expect(evidence).toMatchObject({ gpus: [], claims: new Uint8Array(), cpu: { kind: 'tdx' } });
    expect(toHex(evidence.cpu.report)).toBe(toHex(Uint8Array.of(1, ...expectedReportData(evidence))));
  });

  it('comes from a CPU first', async () => {
    await expect(collectEvidence({ cpu: device('nvidia-gpu', 1) }, nonce, keys)).rejects.toThrow('ATTESTER_CPU');
  });
});

describe('sources by name', () => {
  it('are refused when they are unknown, without a fallback', async () => {
    await expect(openAttester('sgx', undefined)).rejects.toThrow('ATTESTER_UNKNOWN');
    await expect(openAttester('simulated', undefined)).rejects.toThrow('SIMULATED_VENDOR');
    await expect(openGpus('all')).rejects.toThrow('ATTESTER_UNKNOWN');
    expect(await openGpus('none')).toBeUndefined();
  });
});
