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

/** @throws ConfigurationError ATTESTER_UNKNOWN, NVML_*, NVML_NOT_CONFIDENTIAL; CollateralError NVML_BUSY */
export async function openGpus(name: string): Promise<NvidiaGpus | undefined> {
  switch (name) {
    case 'none':
      return undefined;
    case 'nvml': {
      const { openNvidiaGpus } = await import('./nvidia.js');
      return confidential(openNvidiaGpus());
    }
    default:
      throw unknown('--gpus nvml or none', name);
  }
}

/** Of `nvmlConfComputeSystemState`: on, without its developers' tools, on hardware that is no simulation (nvml.h). */
const production = { ccFeature: 1, devToolsMode: 0, environment: 2 };

/** A GPU that is not in confidential mode is none: what it computes on, its host could read. */
function confidential(gpus: NvidiaGpus): NvidiaGpus {
  const { ccFeature, devToolsMode, environment } = gpus.mode();
  const got = { ccFeature, devToolsMode, environment };
  if (JSON.stringify(got) === JSON.stringify(production)) return gpus;
  gpus.close();
  throw new ConfigurationError('NVML_NOT_CONFIDENTIAL', {
    ...{ expected: JSON.stringify(production), got: JSON.stringify(got), rule: 'enclave/SPEC.md, attesters' },
    action: 'set the GPU to confidential mode on the host, and reset it, before it is handed over',
  });
}

function unknown(expected: string, got: string): ConfigurationError {
  return new ConfigurationError('ATTESTER_UNKNOWN', { expected, got, rule: 'enclave/SPEC.md, attesters' });
}
