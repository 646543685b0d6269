/** The policy of SnpRegistry that fits an appraisal policy, and what is said of the rest. */
import { expect, it } from 'vitest';
import { documentDigest, neutralPolicy, type AppraisalPolicy } from '#attestation';
import { parseChainSnpPolicy, snpPolicyId, snpPolicyOf } from './snp-policy.js';

const owner = `0x${'11'.repeat(20)}`;
const options = { owner, validForSeconds: 1000, nonceBlocks: 100, at: 1_800_000_000 };
const floor = {
  ...{ product: 'Milan' as const, advisory: 'a test advisory', since: 1_700_000_000 },
  floor: { bootLoader: 4, snp: 24, microcode: 219 },
  appliesTo: ['reported' as const],
};
const policy = (snp: Partial<AppraisalPolicy['snp']>): AppraisalPolicy => ({
  ...neutralPolicy,
  snp: { ...neutralPolicy.snp, ...snp },
});

it('carries what the chain can demand, under the digest of the appraisal policy', () => {
  const appraisal = policy({
    ...{ tcbFloors: [floor, { ...floor, floor: { snp: 23, tee: 1 } }], allowVlek: false, guestSvnMinimum: 7 },
    ...{ guestPolicySet: ['singleSocket'], guestPolicyClear: ['smtAllowed'], hostData: '05'.repeat(32) },
    ...{ platformInfoSet: ['aliasCheckComplete'], measurements: ['07'.repeat(48)], idKeyDigests: ['06'.repeat(48)] },
  });
  const { policy: chain, id, measurements, notDemanded } = snpPolicyOf(appraisal, options);
  expect(chain).toMatchObject({
    ...{ owner, salt: `0x${documentDigest(appraisal)}`, allowVlek: false, guestSvn: 7, nonceBlocks: 100 },
    tcbFloors: ['0x04010000000018db', `0x${'ff'.repeat(8)}`, `0x${'ff'.repeat(8)}`],
    ...{ guestSet: '0x100000', guestClear: '0x10000', platformSet: '0x20', hostData: `0x${'05'.repeat(32)}` },
  });
  expect(chain.idKey).not.toBe(`0x${'00'.repeat(32)}`);
  expect(measurements).toHaveLength(1);
  expect(notDemanded).toEqual(['reported ≤ committed ≤ current TCB']);
  expect(snpPolicyId(parseChainSnpPolicy(JSON.parse(JSON.stringify(chain))))).toBe(id);
});

it('S-L11 says what it cannot demand, and what it refuses besides', () => {
  const { notDemanded, stricter } = snpPolicyOf(
    policy({
      ...{ abiMinimum: { major: 1, minor: 55 }, authorKeyDigests: ['aa'.repeat(48)], chipsAllowed: ['01'.repeat(64)] },
      ...{
        tcbFloors: [
          { ...floor, since: 1_900_000_000 },
          { ...floor, appliesTo: ['launch'] },
        ],
        mitigations: '00000001',
      },
      ...{ revocation: 'required', allowDebug: true, vmpls: [0, 1] },
    }),
    options,
  );
  const told = ['guest ABI', 'author keys', 'mitigations', 'Milan launch TCB', 'in force from', 'chips allowed'];
  for (const what of [...told, 'CRLs', 'a list of images']) {
    expect(
      notDemanded.filter((one) => one.includes(what)),
      what,
    ).toHaveLength(1);
  }
  expect(stricter).toEqual(['guests with DEBUG', 'VMPL 0, 1: only 0']);
});

it('refuses a policy that no SNP evidence on chain can meet, and a file that is none', () => {
  expect(() => snpPolicyOf({ ...neutralPolicy, cpuKinds: ['tdx'] }, options)).toThrow(/POLICY_SNP/);
  expect(() => snpPolicyOf(policy({ vmpls: [1] }), options)).toThrow(/POLICY_SNP/);
  expect(() => parseChainSnpPolicy({ owner })).toThrow(/POLICY_SNP/);
});
