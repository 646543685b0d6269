import { describe, expect, it } from 'vitest';
import { fromHex, to0x } from '#attestation/base';
import {
  dutySelectorOf,
  escrowIdOf,
  jobIdOf,
  JobMode,
  specDigestOf,
  type JobSpec,
  type Terms,
} from '#attestation/records';
import { planOf } from '#libs/proof';
import { snpPolicyId, type ChainSnpPolicy } from '#libs/settlement';
import { canonicalManifest } from '#libs/step';
import { teeTerms } from '#test/escrow-terms';
import { tinyManifest } from '#test/tiny-job';
import { checkTerms, type OwnSide } from './terms.js';

const word = (n: number) => new Uint8Array(32).fill(n);
const address = (n: number) => new Uint8Array(20).fill(n);
const hour = 3600;

const manifest = tinyManifest();
const publishWei = 5n;

const spec: JobSpec = {
  version: 1,
  manifest: canonicalManifest(manifest),
  dataset: { id: word(1), root: word(2), records: 1, shards: 1 },
  segmentSteps: 1,
  scheme: 'state-keccak',
  proving: null,
  policyDigest: word(3),
  assurance: 'tee',
  recipient: word(4),
  settlement: { chainId: 31337, contract: address(5) },
  salt: word(6),
};
const own: OwnSide = {
  account: address(7),
  chainId: 31337,
  settlement: address(5),
  limits: {
    priceMinWei: 1000n,
    stakeMaxWei: 500n,
    answerMinWei: 10n,
    acceptProved: false,
    livenessMaxBps: 1000,
    tokens: [to0x(address(8))],
    startMinSeconds: hour,
    computeMinSeconds: 24 * hour,
    ackMinSeconds: hour,
    revealMinSeconds: hour,
    windowMaxSeconds: 48 * hour,
    computeMaxSeconds: 96 * hour,
    proofSeconds: 60,
    acceptClientQuorum: true,
    independentBrokers: [],
  },
  attestors: {},
  snpPolicies: new Map(),
};
/** As `veritrain job submit` makes them, each at the edge of what the host accepts. */
const good = teeTerms({
  client: address(1),
  provider: own.account,
  keyBroker: address(2),
  specDigest: specDigestOf(spec),
  initialWeights: word(1),
  policy: spec.policyDigest,
  segments: manifest.steps,
  seedCommitClient: word(9),
  acceptBy: 4_000_000_000,
  windows: { start: hour, compute: 24 * hour, challenge: 60, reveal: hour, ack: hour },
  publishFee: 3n * publishWei,
});

function offer(
  change: Partial<Terms>,
  otherSpec: Partial<JobSpec> = {},
  otherJob: { jobId?: string; escrowId?: string } = {},
  side: OwnSide = own,
) {
  const given = { ...spec, ...otherSpec };
  const terms = { ...good, specDigest: specDigestOf(given), ...change };
  const job = { jobId: to0x(jobIdOf(given)), escrowId: to0x(escrowIdOf(terms)), ...otherJob };
  return () => checkTerms(job, terms, given, side, publishWei);
}
const windows = (change: Partial<Terms['windows']>) => ({ windows: { ...good.windows, ...change } });
const zero = `0x${'00'.repeat(32)}` as const;

it('accepts terms at the edge of every limit, in native coin or a token of the settings', () => {
  expect(offer({})).not.toThrow();
  expect(offer({ token: address(8) })).not.toThrow();
});

describe('refuses', () => {
  it.each<[string, string, () => void]>([
    ['HOST_TERMS_JOB', 'a job id of another spec', offer({}, {}, { jobId: zero })],
    ['HOST_TERMS_JOB', 'terms of another spec', offer({ specDigest: word(0) })],
    ['HOST_TERMS_ESCROW', 'an escrow id of other terms', offer({}, {}, { escrowId: zero })],
    ['HOST_TERMS_CHAIN', 'another chain', offer({}, { settlement: { chainId: 1, contract: address(5) } })],
    ['HOST_TERMS_CHAIN', 'another contract', offer({}, { settlement: { chainId: 31337, contract: address(6) } })],
    ['HOST_TERMS_PROVIDER', 'another provider', offer({ provider: address(9) })],
    ['HOST_TERMS_PROVIDER', 'no provider', offer({ provider: address(0) })],
    ['HOST_TERMS_MODE', 'tee alone', offer({ mode: JobMode.tee })],
    ['HOST_TERMS_MODE', 'duties beside', offer({ mode: good.mode | JobMode.full })],
    ['HOST_TERMS_MODE', 'a duty selector', offer({ dutySelectors: [fromHex('0x01020304')] })],
    ['HOST_TERMS_TOKEN', 'a token of its own', offer({ token: address(9) })],
    ['HOST_TERMS_PRICE', 'too little', offer({ price: 999n })],
    ['HOST_TERMS_STAKE', 'too much stake', offer({ stake: 501n })],
    ['HOST_TERMS_LIVENESS', 'too much of the stake at risk', offer({ liveness: 51n })],
    ['HOST_TERMS_LIVENESS', 'liveness without stake', offer({ stake: 0n, liveness: 1n })],
    ['HOST_TERMS_WINDOWS', 'a short start window', offer(windows({ start: hour - 1 }))],
    ['HOST_TERMS_WINDOWS', 'a short compute window', offer(windows({ compute: 24 * hour - 1 }))],
    ['HOST_TERMS_WINDOWS', 'a short ack window', offer(windows({ ack: hour - 1 }))],
    ['HOST_TERMS_WINDOWS', 'a short reveal window', offer(windows({ reveal: hour - 1 }))],
  ])('%s: %s', (code, _, check) => {
    expect(check).toThrow(expect.objectContaining({ code, family: 'rejection' }));
  });
});

describe('Z-H2 of a job that is proved besides', () => {
  const proofs = { manifest: tinyManifest({ superblock: 4 }), profile: 'fast16', variant: 'separate' } as const;
  const { digest: planDigest } = planOf(proofs);
  const proving = { profile: proofs.profile, variant: proofs.variant, planDigest };
  const proved: Partial<JobSpec> = {
    ...{ scheme: 'fxt-zk/1', assurance: 'tee+zk', proving, manifest: canonicalManifest(proofs.manifest) },
  };
  const duty = dutySelectorOf({ scheme: 'fxt-zk/1' });
  const fair = { ...good.windows, prove: 2 * hour, provePer: hour };
  const wanted: Partial<Terms> = {
    ...{ mode: good.mode | JobMode.full, dutySelectors: [duty], planDigest, windows: fair },
  };
  const side = { ...own, limits: { ...own.limits, acceptProved: true } };
  const ask = (change: Partial<Terms>, other: Partial<JobSpec> = {}) =>
    offer({ ...wanted, ...change }, { ...proved, ...other }, {}, side);

  it('Z-H2 accepts the plan of the manifest, the selector of the scheme and windows for its proofs', () => {
    expect(ask({})).not.toThrow();
  });

  it.each<[string, string, () => void]>([
    ['TERMS_PLAN', 'a plan of nobody’s in the terms', ask({ planDigest: word(0xee) })],
    [
      'TERMS_PLAN',
      'a plan of nobody’s in spec and terms alike',
      ask({ planDigest: word(0xee) }, { proving: { ...proving, planDigest: word(0xee) } }),
    ],
    ['TERMS_SELECTORS', 'a verifier of another scheme', ask({ dutySelectors: [fromHex('0x01020304')] })],
    ['TERMS_PROVE', 'a second to prove', ask({ windows: { ...fair, prove: 1 } })],
    ['TERMS_PROVE', 'a second for each segment', ask({ windows: { ...fair, provePer: 1 } })],
  ])('Z-H2 refuses with %s %s', (code, _, check) => {
    expect(check).toThrow(expect.objectContaining({ code, family: 'rejection' }));
  });

  it('Z-H2 refuses a window to compute that has no room for the proofs, which are there before the run is committed', () => {
    const slow = { ...side, limits: { ...side.limits, proofSeconds: hour } };
    const patient = { windows: { ...fair, prove: 48 * hour, provePer: 48 * hour } };
    const refused = expect.objectContaining({ code: 'TERMS_COMPUTE' });
    expect(offer({ ...wanted, ...patient }, proved, {}, slow)).toThrow(refused);
    const long = { windows: { ...patient.windows, compute: 96 * hour } };
    expect(offer({ ...wanted, ...long }, proved, {}, slow)).not.toThrow();
  });
});

describe('what all who sign demand', () => {
  it.each<[string, string, () => void]>([
    ['TERMS_WINDOW', 'a window that would lock pay and stake', offer(windows({ challenge: 48 * hour + 1 }))],
    ['TERMS_WINDOW', 'a compute window without end', offer(windows({ compute: 96 * hour + 1 }))],
    ['TERMS_PUBLISH', 'S-H3 a complaint that costs less than its answer', offer({ publishFee: 3n * publishWei - 1n })],
    ['TERMS_PARTY', 'no key broker', offer({ keyBroker: address(0) })],
  ])('%s: %s', (code, _, check) => {
    expect(check).toThrow(expect.objectContaining({ code, family: 'rejection' }));
  });
});

describe('S-H4 who may take a seal away', () => {
  const strict = { ...own, limits: { ...own.limits, acceptClientQuorum: false } };
  const [a, b] = [address(0x21), address(0x22)];
  const known = { ...strict, attestors: { [to0x(a)]: 'https://a.example', [to0x(b)]: 'https://b.example' } };
  const listed = (attestors: readonly Uint8Array[], needed: number, side: OwnSide) =>
    offer({ attestors, needed }, {}, {}, side);

  it('S-H4 refuses lists on which the client’s side is a quorum of its own, unless the settings take them', () => {
    const refused = expect.objectContaining({ code: 'HOST_TERMS_QUORUM' });
    for (const needed of [0, 1]) expect(listed([a, b], needed, known)).toThrow(refused);
    expect(offer({ attestors: [good.client, a], needed: 2 }, {}, {}, known)).toThrow(refused);
    expect(listed([a, b], 2, known)).not.toThrow();
    expect(listed([a], 0, own)).not.toThrow();
    const independentBrokers = [to0x(good.keyBroker)];
    expect(listed([a], 1, { ...known, limits: { ...known.limits, independentBrokers } })).not.toThrow();
  });

  it('S-H4 refuses terms that need more attestors than it knows', () => {
    const one = { ...own, attestors: { [to0x(a)]: 'https://a.example' } };
    expect(listed([a, b], 1, one)).not.toThrow();
    expect(listed([a, b], 2, one)).toThrow(expect.objectContaining({ code: 'HOST_TERMS_ATTESTOR' }));
  });

  it('S-H4 registers under policies on chain that it knows and that fit the policy of the job alone', () => {
    const policy: ChainSnpPolicy = {
      ...{ owner: to0x(address(1)) as `0x${string}`, salt: to0x(good.policy) as `0x${string}`, validForSeconds: 1 },
      ...{ tcbFloors: ['0x0000000000000000', '0x0000000000000000', '0x0000000000000000'], nonceBlocks: 1 },
      ...{
        allowVlek: false,
        guestSvn: 0,
        guestSet: '0x0',
        guestClear: '0x0',
        platformSet: '0x0',
        platformClear: '0x0',
      },
      ...{ hostData: zero, idKey: zero },
    };
    const other = { ...policy, salt: zero } as const;
    const side = { ...own, snpPolicies: new Map([policy, other].map((one) => [snpPolicyId(one) as string, one])) };
    const under = (one: ChainSnpPolicy, of: OwnSide) => offer({ snpPolicy: fromHex(snpPolicyId(one)) }, {}, {}, of);
    const refused = expect.objectContaining({ code: 'HOST_TERMS_SNP' });
    expect(under(policy, side)).not.toThrow();
    expect(under(other, side)).toThrow(refused);
    expect(under(policy, own)).toThrow(refused);
  });
});
