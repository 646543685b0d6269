/** Chooses the sources of evidence by name. There is no fallback: a guest without its device does not start. */
import { ConfigurationError } from '#attestation/base';
import type { Attester } from './attester.js';
import type { NvidiaGpus } from './nvidia.js';
import { openTsm } from './tsm.js';

/** @throws ConfigurationError ATTESTER_UNKNOWN, or the attester's own */
export async function openAttester(name: string, vendorFile: string | undefined): Promise<Attester> {
  switch (name) {
    case 'snp':
    case 'tdx':
      return openTsm(name);
    case 'simulated': {
      const { openSimulated } = await import('./simulated.js');
      return openSimulated(vendorFile);
    }
    default:
      throw unknown('snp, tdx or simulated', name);
  }
}

/** @throws ConfigurationError ATTESTER_UNKNOWN, NVML_*; CollateralError NVML_BUSY */
export async function openGpus(name: string): Promise<NvidiaGpus | undefined> {
  switch (name) {
    case 'none':
      return undefined;
    case 'nvml': {
      const { openNvidiaGpus } = await import('./nvidia.js');
      return openNvidiaGpus();
    }
    default:
      throw unknown('--gpus nvml or none', name);
  }
}

function unknown(expected: string, got: string): ConfigurationError {
  return new ConfigurationError('ATTESTER_UNKNOWN', { expected, got, rule: 'enclave/SPEC.md, attesters' });
}
