/** Chooses the source of evidence by name. There is no fallback: a guest without its device does not start. */
import { ConfigurationError } from '#attestation';
import type { Attester } from './attester.js';

/** @throws ConfigurationError ATTESTER_UNKNOWN, or the attester's own */
export async function openAttester(name: string, vendorFile: string | undefined): Promise<Attester> {
  switch (name) {
    case 'simulated': {
      const { openSimulated } = await import('./simulated.js');
      return openSimulated(vendorFile);
    }
    default:
      throw new ConfigurationError('ATTESTER_UNKNOWN', {
        expected: 'snp, tdx or simulated',
        got: name,
        rule: 'enclave SPEC, attesters',
      });
  }
}
