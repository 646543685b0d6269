/** The one policy that accepts simulated hardware: it names the simulated root of this machine and says what it is. */
import { neutralPolicy, toHex, type AppraisalPolicy } from '#attestation';
import { simulatedMeasurement, type SimulatedVendor } from '#libs/simulated-vendor';

export function developmentPolicy(vendor: SimulatedVendor): AppraisalPolicy {
  return {
    ...neutralPolicy,
    id: 'veritrain:development-simulated-hardware',
    environment: 'development',
    simulatedRoots: [{ product: vendor.product, spkiSha256: vendor.arkSpkiSha256 }],
    cpuKinds: ['simulated-snp'],
    freshness: 'required',
    resultSecondsMax: 24 * 3600,
    snp: { ...neutralPolicy.snp, measurements: [toHex(simulatedMeasurement)], chipsAllowed: [toHex(vendor.hwid)] },
  };
}
