/**
 * The evidence of one session, collected so that its parts answer for each other: every GPU answers a nonce made of the
 * verifier's nonce and the session keys, and the CPU's REPORT_DATA covers these, the GPU reports and what the guest
 * states of the GPUs' mode (attestation/SPEC.md §6.5).
 */
import { ConfigurationError, encodeCanonical, toCbor } from '#attestation/base';
import { encodeSessionEvidence, gpuNonce, reportData, withSessionProof } from '#attestation/records';
import type { SessionKeys } from '../keys.js';
import type { Attester, EvidenceKind, EvidenceParts } from './attester.js';
import type { NvidiaGpus } from './nvidia.js';

/** Where a guest's evidence comes from; `gpus` absent: none are used. */
export interface Machine {
  readonly cpu: Attester;
  readonly gpus?: NvidiaGpus;
}

/**
 * @returns session evidence in its deterministic encoding
 * @throws ConfigurationError ATTESTER_CPU and what the attesters throw
 */
export async function collectEvidence(
  machine: Machine,
  nonce: Uint8Array,
  { binding, signReceipt }: Pick<SessionKeys, 'binding' | 'signReceipt'>,
): Promise<Uint8Array> {
  const { cpu, gpus } = machine;
  const reports: EvidenceParts[] = [];
  for (const gpu of gpus?.attesters ?? []) reports.push(await gpu.collect(gpuNonce(nonce, binding)));
  const claims = gpus === undefined ? new Uint8Array() : encodeCanonical(toCbor({ gpu: gpus.mode() }));
  const rawReports = reports.map(({ report }) => report);
  const parts = await cpu.collect(reportData(nonce, binding, rawReports, claims));
  const reported = {
    nonce,
    binding,
    cpu: { kind: cpuKind(parts.kind), report: parts.report, certificates: parts.certificates },
    gpus: reports.map(({ report, certificates }) => ({ report, certificates })),
    claims,
  };
  return encodeSessionEvidence(await withSessionProof(reported, signReceipt));
}

function cpuKind(kind: EvidenceKind): 'snp' | 'simulated-snp' | 'tdx' {
  switch (kind) {
    case 'snp':
    case 'tdx':
      return kind;
    case 'simulated':
      return 'simulated-snp';
    case 'nvidia-gpu':
      throw new ConfigurationError('ATTESTER_CPU', {
        expected: 'an attester of the CPU',
        got: kind,
        rule: 'enclave/SPEC.md, attesters',
      });
  }
}
