/** Evidence of this machine, from an enclave started for the purpose: the same attesters that a job would use. */
import { randomBytes } from 'node:crypto';
import { parseSessionEvidence, type SessionEvidence } from '#attestation/records';
import { startEnclave } from '#libs/enclave-channel';

export interface MachineOptions {
  readonly attester: 'snp' | 'tdx' | 'simulated';
  readonly vendor?: string;
  readonly gpus: 'nvml' | 'none';
}

/** No chain, nobody paid: a session for looking only. */
const nobody = { provider: new Uint8Array(20), chainId: 0, registry: new Uint8Array(20) };

/**
 * @throws ConfigurationError when the devices are absent or refuse this use: TSM_*, NVML_*, SIMULATED_VENDOR,
 *   ENCLAVE_START; CollateralError TSM_BUSY, NVML_BUSY
 */
export async function collectMachineEvidence(options: MachineOptions): Promise<SessionEvidence> {
  const { attester, vendor, gpus } = options;
  const args = ['--attester', attester, '--gpus', gpus, ...(vendor === undefined ? [] : ['--vendor', vendor])];
  const enclave = await startEnclave(args);
  try {
    await enclave.client.request('open', nobody);
    return parseSessionEvidence(await enclave.client.request('attest', { nonce: new Uint8Array(randomBytes(32)) }));
  } finally {
    enclave.client.close();
    enclave.stop();
  }
}
