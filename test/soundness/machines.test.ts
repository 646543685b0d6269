/** Sessions on whole machines, from the key broker's release to the verdict on their bundle, years later and offline. */
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { verifyBundle } from '#attestation';
import { encodeBundle, noEndorsementRecord, type EndorsementRecord } from '#attestation/records';
import type { FakeRoot } from '#test/fake-intel';
import { machineBundle, type MachineKind, type MachineParts } from '#test/machine-bundle';
import { madeGpuVendor } from '#test/made-machine';
import { tinyBundle } from '#test/tiny-bundle';

const trusted = vi.hoisted(() => ({ nvidia: { device: [] as string[], rim: [] as string[] }, intel: null as unknown }));
vi.mock('../../attestation/src/nvidia/constants.js', async (original) => ({
  ...(await original<object>()),
  nvidiaPins: trusted.nvidia,
}));
vi.mock('../../attestation/src/intel/verify.js', async (original) => {
  const { fakeIntel, fakeIntelRoot } = await import('#test/fake-intel');
  const root = await fakeIntelRoot();
  trusted.intel = root;
  const { pins } = await fakeIntel({ root });
  return { ...(await original<object>()), intelRootSpkiSha256: [...pins][0] };
});

let parts: MachineParts;
beforeAll(async () => {
  const vendor = await madeGpuVendor();
  trusted.nvidia.device.push(...vendor.nvidia.pins.device);
  trusted.nvidia.rim.push(...vendor.nvidia.pins.rim);
  parts = { vendor, intel: trusted.intel as FakeRoot, trained: (await tinyBundle()).bundle };
});
const road = (kind: MachineKind, kept?: (all: EndorsementRecord) => EndorsementRecord) =>
  machineBundle(kind, parts, kept);

describe.each<[MachineKind, (keyof EndorsementRecord)[]]>([
  ['H100', ['crls', 'ocsp', 'rims']],
  ['TDX', ['intel']],
])('a session with %s', (kind, required) => {
  it('A-H1 is released by the key broker and verified in its bundle, with what the broker had and nothing else', async () => {
    const { bundle, policy } = await road(kind);
    const { checks, tier, notChecked } = await verifyBundle({ bundle: encodeBundle(bundle), policy });
    const unmet = checks.filter(({ status }) => status !== 'met' && status !== 'warned').map(({ code }) => code);
    expect(unmet).toEqual(['BUNDLE_TRANSACTIONS']);
    expect(['affirming', 'warning']).toContain(tier);
    expect(notChecked.filter((part) => /crls|ocsp|rims|intel/.test(part))).toEqual([]);
  });

  it('A-H1 is neither without any one endorsement that the policy requires', async () => {
    const { bundle, policy } = await road(kind);
    for (const list of required) {
      for (const index of bundle.endorsements[list].keys()) {
        const endorsements = { ...bundle.endorsements, [list]: bundle.endorsements[list].toSpliced(index, 1) };
        const { tier } = await verifyBundle({ bundle: encodeBundle({ ...bundle, endorsements }), policy });
        expect([list, index, tier]).toEqual([list, index, 'none']);
      }
    }
    const nothing = road(kind, () => noEndorsementRecord);
    await expect(nothing).rejects.toMatchObject({ code: 'APPRAISAL_REFUSED' });
  });
});
