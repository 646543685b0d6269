/** The launch digest of a launch that is described in words: image by hashes, firmware by its place in the list. */
import { fromHex, toHex } from '../base/bytes.js';
import type { SnpLaunch } from '../snp/appraise.js';
import { enforcingFirmwareOf } from './firmware.js';
import { digestAfterFirmware } from './launch-digest.js';
import { cpuSignature } from './vmsa.js';

/**
 * @returns hexadecimal; undefined where the firmware is on no list of those that enforce hashes, so that the description
 *   says nothing of what was started
 * @throws Rejection SNP_MEASURE_*
 */
export function describedMeasurement(launch: SnpLaunch): string | undefined {
  const firmware = enforcingFirmwareOf(launch.firmware)?.launch;
  if (firmware === undefined) return undefined;
  const { vcpus, commandLine } = launch;
  const digest = digestAfterFirmware(firmware, fromHex(firmware.digest), {
    kernel: { imageSha256: fromHex(launch.kernel), initrdSha256: fromHex(launch.initrd), commandLine },
    ...{ vcpus, cpuSignature: cpuSignature(launch.cpu), guestFeatures: BigInt(launch.features), vmm: 'QEMU' },
  });
  return toHex(digest);
}
