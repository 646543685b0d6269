/** Results tell which machine, which launch and which GPUs made the evidence. */
import { describe, expect, it } from 'vitest';
import { fakeAmd, fakeAmdAt } from '#test/fake-amd';
import { loadSamples } from '#test/samples';
import { toHex } from '../base/bytes.js';
import { reportData, type KeyBinding } from '../records/key-binding.js';
import { appraise } from './appraise.js';
import { noEndorsements, type SessionBinding } from './evidence.js';
import { instanceDifferences, quoteInstance } from './instance.js';
import { neutralPolicy, type AppraisalPolicy } from './policy.js';
import { earOf } from './result.js';

const at = fakeAmdAt;
const amd = fakeAmd('milan');
const filled = (size: number, byte: number) => new Uint8Array(size).fill(byte);
const keys: KeyBinding = {
  ...{ receiptKey: filled(32, 1), settlementKey: filled(20, 2), transportKey: filled(32, 3) },
  ...{ provider: filled(20, 4), chainId: 31337, registry: filled(20, 5) },
};
const session: SessionBinding = { nonce: filled(32, 6), keys, claims: new Uint8Array() };
const policy: AppraisalPolicy = { ...neutralPolicy, environment: 'development', simulatedRoots: amd.roots };

async function judge(values: Parameters<typeof amd.report>[0], change: Partial<AppraisalPolicy> = {}) {
  const report = await amd.report({ REPORT_DATA: reportData(session.nonce, keys, [], session.claims), ...values });
  const evidence = { kind: 'composite', cpu: { kind: 'simulated-snp', report }, gpus: [], session } as const;
  const endorsements = { ...noEndorsements, certificates: amd.certificates };
  return appraise({ evidence, endorsements, policy: { ...policy, ...change }, nonce: session.nonce, at });
}

const first = { REPORT_ID: filled(32, 0xa1), MEASUREMENT: filled(48, 0xa2) };

describe('the machine and launch of a result', () => {
  it('A-M1 are REPORT_ID, chip and measurement, of accepted and of refused evidence', async () => {
    const expected = { kind: 'simulated-snp', chip: toHex(amd.vendor.hwid), launch: 'a1'.repeat(32) };
    const good = await judge(first);
    expect(good.instance).toEqual({ ...expected, measurement: 'a2'.repeat(48), registers: {} });
    const denied = await judge(first, { snp: { ...policy.snp, chipsDenied: [toHex(amd.vendor.hwid)] } });
    expect(denied.tier).toBe('contraindicated');
    expect(denied.instance).toEqual(good.instance);
    expect(earOf(good)['veritrain.instance']).toEqual(good.instance);
  });

  it('A-M1 tell a stranger’s guest over the victim’s REPORT_DATA from the victim', async () => {
    const victim = (await judge(first)).instance!;
    const again = (await judge({ ...first, GUEST_SVN: 9 })).instance!;
    expect(instanceDifferences(victim, again)).toEqual([]);
    const stranger = await judge({ REPORT_ID: filled(32, 0xb1), MEASUREMENT: filled(48, 0xb2) });
    expect(stranger.checks.find(({ id }) => id === 'REPORT_DATA_MISMATCH')?.status).toBe('met');
    expect(instanceDifferences(victim, stranger.instance!)).toEqual(['launch', 'measurement']);
    const relaunched = await judge({ ...first, REPORT_ID: filled(32, 0xb1) });
    expect(instanceDifferences(victim, relaunched.instance!)).toEqual(['launch']);
    const signed = await judge({ ...first, ID_KEY_DIGEST: filled(48, 1) });
    expect(instanceDifferences(victim, signed.instance!)).toEqual(['idKey']);
  });

  it('A-M1 are absent where nothing is authentic', async () => {
    expect((await judge({ ...first, CHIP_ID: filled(64, 9) })).instance).toBeUndefined();
  });

  it.skipIf(loadSamples('intel-tdx').length === 0)('A-M1 of a TD are PPID, MRTD and RTMRs', async () => {
    const { verifyQuote, intelRootSpkiSha256 } = await import('../intel/verify.js');
    const sample = loadSamples('intel-tdx').find(({ id }) => id === 'v4-td10-google-spr')!;
    const pins = new Set([intelRootSpkiSha256]);
    const { claims } = await verifyQuote({ quote: sample.files.get('quote')!, at: sample.at, pins });
    const instance = quoteInstance(claims!);
    expect(Object.keys(instance.registers)).toEqual(['RTMR0', 'RTMR1', 'RTMR2', 'RTMR3']);
    const other = { ...instance, registers: { ...instance.registers, RTMR2: '00'.repeat(48) } };
    expect(instanceDifferences(instance, other)).toEqual(['registers']);
  });
});

describe('checks', () => {
  it('carry the rule’s key, also under a failure’s own code, and what they are about', async () => {
    const result = await judge({ ...first, POLICY: 0x10000n });
    const failed = result.checks.find(({ status }) => status === 'forged')!;
    expect([failed.id, failed.code]).toEqual(['SNP_REPORT_FORMAT', 'SNP_REPORT_POLICY_RESERVED']);
    for (const check of result.checks) expect(check.subject).toEqual({ session: 0 });
    for (const { checks } of result.submodules) expect(new Set(checks.map(({ id }) => id)).size).toBe(checks.length);
  });

  it('A-L3 never call simulated hardware met', async () => {
    const result = await judge(first);
    expect(result.checks.find(({ id }) => id === 'SIMULATED_HARDWARE')?.status).toBe('warned');
    expect(result.tier).toBe('warning');
  });
});
