/** The one policy that accepts simulated hardware: it names the simulated roots of this machine and says what they are. */
import { neutralPolicy, type AppraisalPolicy } from '#attestation';
import { toHex } from '#attestation/base';
import { simulatedMeasurement, type SimulatedVendor } from '#libs/simulated-vendor';

export function developmentPolicy(...vendors: readonly SimulatedVendor[]): AppraisalPolicy {
  return {
    ...neutralPolicy,
    id: 'veritrain:development-simulated-hardware',
    environment: 'development',
    simulatedRoots: vendors.map(({ product, arkSpkiSha256 }) => ({ product, spkiSha256: arkSpkiSha256 })),
    cpuKinds: ['simulated-snp'],
    freshness: 'required',
    resultSecondsMax: 24 * 3600,
    snp: {
      ...neutralPolicy.snp,
      measurements: [toHex(simulatedMeasurement)],
      chipsAllowed: vendors.map(({ hwid }) => toHex(hwid)),
    },
  };
}
