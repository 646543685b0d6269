/** The verdict on whole machines rests on what the key broker handed on, and on nothing else. */
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { encodeDocument, type AppraisalPolicy } from '#attestation';
import { to0x } from '#attestation/base';
import { encodeEndorsements, type EndorsementRecord } from '#attestation/records';
import type { FakeRoot } from '#test/fake-intel';
import { gpuMachineAt, gpuPolicy, madeGpuVendor, madeTd, tdxPolicy, type MadeMachine } from '#test/made-machine';
import { chainId, receiptKey } from '#test/made-session';
import { PolicyAppraiser } from './policy-appraiser.js';

const trusted = vi.hoisted(() => ({ nvidia: { device: [] as string[], rim: [] as string[] }, intel: null as unknown }));
vi.mock('../../../../attestation/src/nvidia/constants.js', async (original) => ({
  ...(await original<object>()),
  nvidiaPins: trusted.nvidia,
}));
vi.mock('../../../../attestation/src/intel/verify.js', async (original) => {
  const { fakeIntel, fakeIntelRoot } = await import('#test/fake-intel');
  const root = await fakeIntelRoot();
  trusted.intel = root;
  const { pins } = await fakeIntel({ root });
  return { ...(await original<object>()), intelRootSpkiSha256: [...pins][0] };
});

const provider = new Uint8Array(20).fill(4);
const bound = { provider: to0x(provider), chainId };
const appraiser = new PolicyAppraiser();

interface Machine extends MadeMachine {
  readonly at: number;
  readonly policy: AppraisalPolicy;
}
type Kind = 'H100' | 'TDX';
let machines: Record<Kind, Machine>;
beforeAll(async () => {
  const vendor = await madeGpuVendor();
  trusted.nvidia.device.push(...vendor.nvidia.pins.device);
  trusted.nvidia.rim.push(...vendor.nvidia.pins.rim);
  machines = {
    H100: { ...(await vendor.session(provider)), at: gpuMachineAt, policy: gpuPolicy },
    TDX: { ...(await madeTd(provider, trusted.intel as FakeRoot)), policy: tdxPolicy },
  };
});

function judge({ evidence, endorsements, at, policy }: Machine, devicesInUse: ReadonlySet<string> = new Set()) {
  const encoded = { endorsements: encodeEndorsements(endorsements), policy: encodeDocument(policy) };
  return appraiser.appraise({ evidence, ...encoded, devicesInUse, bound, at });
}

describe.each<[Kind, (keyof EndorsementRecord)[], string]>([
  ['H100', ['certificates', 'crls', 'ocsp', 'rims'], 'warning'],
  ['TDX', ['intel'], 'affirming'],
])('a session with %s', (kind, lists, tier) => {
  it('A-H1 passes with the endorsements of the broker', async () => {
    const verdict = await judge(machines[kind]);
    const bad = verdict.checks.filter(({ status, code }) => status !== 'met' && code !== 'SIMULATED_HARDWARE');
    expect(bad).toEqual([]);
    expect(verdict).toMatchObject({ tier, receiptKey });
    expect(verdict.devices).toHaveLength(kind === 'H100' ? 1 : 0);
  });

  it('A-H1 is none without any one endorsement that the policy requires', async () => {
    const machine = machines[kind];
    for (const name of lists) {
      const list = machine.endorsements[name];
      expect(list.length, name).toBeGreaterThan(0);
      for (const left of list.map((_, at) => list.filter((__, other) => other !== at))) {
        const endorsements = { ...machine.endorsements, [name]: left };
        expect(await judge({ ...machine, endorsements }), name).toMatchObject({ tier: 'none', receiptKey: null });
      }
    }
  });

  it('A-H1 is none with the endorsements of another machine', async () => {
    const { endorsements } = machines[kind === 'TDX' ? 'H100' : 'TDX'];
    expect(await judge({ ...machines[kind], endorsements })).toMatchObject({ tier: 'none', receiptKey: null });
  });
});
