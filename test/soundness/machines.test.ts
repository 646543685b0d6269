/** Sessions on whole machines, from the key broker's release to the verdict on their bundle, years later and offline. */
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { spelled, verifyBundle } from '#attestation';
import { CodedError } from '#attestation/base';
import { encodeBundle, noEndorsementRecord, type EndorsementRecord } from '#attestation/records';
import { alteredEndorsements } from '#test/altered-endorsements';
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

  it('W-M4 has another verdict with any byte of an endorsement otherwise, and with another spelling of it', async () => {
    const { bundle, policy } = await road(kind);
    const { tier } = await verifyBundle({ bundle: encodeBundle(bundle), policy });
    let count = 0;
    for (const { what, bytes } of alteredEndorsements(bundle, 4)) {
      const other = await verifyBundle({ bundle: bytes, policy }).catch((error: unknown) => {
        if (error instanceof CodedError) return null;
        throw error;
      });
      expect(other?.tier, what).not.toBe(tier);
      count++;
    }
    expect(count).toBeGreaterThanOrEqual(12);
  }, 300_000);

  it('W-M4 is refused with a manifest or collateral in another spelling, whose signature holds, and takes it once it is spelled', async () => {
    const { bundle, policy } = await road(kind);
    const [name] = kind === 'TDX' ? (['intel'] as const) : (['rims'] as const);
    const spaced = bundle.endorsements[name].with(0, new Uint8Array([...bundle.endorsements[name][0]!, 0x0a]));
    const endorsements = { ...bundle.endorsements, [name]: spaced };
    const { checks } = await verifyBundle({ bundle: encodeBundle({ ...bundle, endorsements }), policy });
    const unmet = checks.filter(({ status }) => status !== 'met' && status !== 'warned');
    expect(unmet.map(({ id, status, got }) => [id, status, got])).toEqual([
      ['BUNDLE_ENDORSEMENTS', 'refused', `endorsements.${name}[0]`],
      ['BUNDLE_TRANSACTIONS', 'not-checked', 'not checked'],
    ]);
    expect(spelled(endorsements)).toEqual(bundle.endorsements);
    const unreadable = spelled({ ...endorsements, [name]: [Uint8Array.of(0x3c)] });
    expect(unreadable[name]).toEqual([Uint8Array.of(0x3c)]);
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
