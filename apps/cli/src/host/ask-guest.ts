/** Asks a booted guest for evidence over a fresh nonce, and says why it was measured as another where it was. */
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { explainMeasurement, parseSnpReport, type GuestManifest, type LaunchCandidates } from '#attestation';
import { Rejection, toHex } from '#attestation/base';
import { parseSessionEvidence } from '#attestation/records';
import { readBytes } from '#libs/client/files';
import { connectEnclave } from '#libs/enclave-channel';
import type { GuestSettings } from '#libs/guest';
import type { ImageDigests } from './image.js';

export interface Answered {
  readonly kind: string;
  readonly measurement: string;
  /** As the guest gave it. */
  readonly report: Uint8Array;
}

/** No chain, nobody paid: a session for looking only; the guest ends with it. */
const nobody = { provider: new Uint8Array(20), chainId: 0, registry: new Uint8Array(20) };
const firmwareMost = 64 * 1024 * 1024;

/** @throws CollateralError ENCLAVE_*; the guest's own; Rejection GUEST_HARDWARE */
export async function askGuest({ runDirectory, platform }: GuestSettings): Promise<Answered> {
  const client = await connectEnclave(`unix:${join(runDirectory, 'channel.sock')}`);
  try {
    await client.request('open', nobody);
    const { cpu } = parseSessionEvidence(await client.request('attest', { nonce: new Uint8Array(randomBytes(32)) }));
    const expected = platform.kind === 'dev' ? 'simulated-snp' : 'snp';
    if (cpu.kind !== expected)
      throw new Rejection('GUEST_HARDWARE', {
        ...{ expected: `evidence of kind ${expected}`, got: cpu.kind, rule: 'settings of a guest' },
        action: 'start the image that belongs to this profile',
      });
    return { kind: cpu.kind, measurement: toHex(parseSnpReport(cpu.report).measurement), report: cpu.report };
  } finally {
    client.close();
  }
}

type SnpSettings = Extract<GuestSettings['platform'], { kind: 'snp' }>;

/**
 * @param found  what lies in the image's folder now
 * @throws Rejection GUEST_MEASUREMENT: with the input that explains it, or that none does
 */
export function checkMeasurement(
  measured: string,
  settings: GuestSettings,
  platform: SnpSettings,
  manifest: GuestManifest,
  found: ImageDigests,
): void {
  if (measured === platform.measurement) return;
  const { vcpus } = settings;
  const { cpu, features, firmware, measurement } = platform;
  const image = readBytes(firmware, firmwareMost);
  const candidates = {
    ...firmwareNear(firmware),
    kernels: [found.kernel],
    initrds: [found.initrd],
    cmdlines: [found.cmdline],
  };
  const causes = explainMeasurement(manifest, image, { vcpus, cpu, features }, measured, candidates);
  const said = causes?.map(({ input, expected, found: got }) => `${input} ${got} instead of ${expected}`).join(', ');
  throw new Rejection('GUEST_MEASUREMENT', {
    expected: measurement,
    got: `${measured}: ${said || 'no input at hand explains it'}`,
    rule: 'measurement manifest of the guest',
    action: causes?.[0]?.action ?? 'compare QEMU’s command line, its version and the firmware with the manifest',
  });
}

/** Other firmware that lies beside the one that is set, and where Debian puts it. */
function firmwareNear(firmware: string): LaunchCandidates {
  const files = [dirname(firmware), '/usr/share/ovmf', '/usr/share/OVMF'].flatMap((folder) => {
    try {
      return readdirSync(folder)
        .filter((name) => /\.fd$/.test(name))
        .map((name) => join(folder, name));
    } catch {
      return [];
    }
  });
  const others = files.filter((file) => file !== firmware).slice(0, 8);
  return {
    firmware: others.flatMap((name) => {
      const image = readBytes(name, firmwareMost);
      return image.length % 4096 === 0 && image.length > 0 ? [{ name, image }] : [];
    }),
  };
}
