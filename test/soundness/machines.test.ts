/** Sessions on whole machines, from the key broker's release to the verdict on their bundle, years later and offline. */
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { documentDigest, verifyBundle, type AppraisalPolicy } from '#attestation';
import { fromHex, utf8 } from '#attestation/base';
import {
  domainSeparator,
  encodeBundle,
  encodeJobSpec,
  encodeStepStatement,
  encodeTerms,
  escrowIdOf,
  noEndorsementRecord,
  parseEndorsements,
  parseStepStatement,
  runDigest,
  runKeysDigest,
  signReceipt,
  teeSelector,
  type EndorsementRecord,
  type EvidenceBundle,
} from '#attestation/records';
import type { FakeRoot } from '#test/fake-intel';
import {
  gpuMachineAt,
  gpuPolicy,
  madeGpuVendor,
  madeTd,
  tdxPolicy,
  type GpuVendor,
  type SessionInMachine,
} from '#test/made-machine';
import { shownSession, tinyBundle } from '#test/tiny-bundle';
import {
  chainId,
  contract,
  policyBytes,
  provider,
  registry,
  releaseRequest,
  tinyBroker,
  tinyJob,
} from '#test/tiny-job';
import { createSessionKeys } from '../../enclave/src/keys.js';

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

interface Made {
  readonly evidence: Uint8Array;
  readonly endorsements: EndorsementRecord;
  readonly at: number;
}
type Kind = 'H100' | 'TDX';
const policies: Record<Kind, AppraisalPolicy> = { H100: gpuPolicy, TDX: tdxPolicy };
let vendor: GpuVendor;
let trained: EvidenceBundle;
beforeAll(async () => {
  vendor = await madeGpuVendor();
  trusted.nvidia.device.push(...vendor.nvidia.pins.device);
  trusted.nvidia.rim.push(...vendor.nvidia.pins.rim);
  trained = (await tinyBundle()).bundle;
});

async function made(kind: Kind, of: SessionInMachine): Promise<Made> {
  if (kind === 'TDX') return madeTd(provider, trusted.intel as FakeRoot, of);
  return { ...(await vendor.session(provider, 1, of)), at: gpuMachineAt };
}

/** What the real broker released to a session on such a machine, and the bundle of the run that it signed. */
async function road(kind: Kind, kept: (all: EndorsementRecord) => EndorsementRecord = (all) => all) {
  const policy = policies[kind];
  const spec = { policyDigest: fromHex(documentDigest(policy)) };
  const job = { ...(await tinyJob({ spec })), policy };
  const keys = await createSessionKeys({ provider, chainId, registry });
  const of = (nonce: Uint8Array): SessionInMachine => ({ nonce, binding: keys.binding, sign: keys.signReceipt });
  let machine = await made(kind, of(new Uint8Array(32)));
  const { at } = machine;
  const { broker, nonces } = await tinyBroker(job, {
    policyFiles: [utf8(JSON.stringify(policy))],
    collateral: () => kept(machine.endorsements),
  });
  machine = await made(kind, of(nonces.issue(job.jobId, at).nonce));
  const { evidence } = machine;
  const released = await broker.release(releaseRequest(job, evidence), at);
  const segments = trained.segments.map(async ({ statement, ...rest }) => {
    const said = { ...parseStepStatement(statement), jobId: job.jobId };
    const receipt = await signReceipt(said, keys.binding.receiptKey, keys.signReceipt);
    return { ...rest, statement: encodeStepStatement(said), signed: { session: 0, receipt } };
  });
  const run = { ...trained.run, keys: runKeysDigest([keys.binding.settlementKey]) };
  const domain = domainSeparator({ chainId, verifyingContract: contract });
  const seal = keys.signSettlement(runDigest(domain, { job: escrowIdOf(job.terms), ...run }));
  const bundle: EvidenceBundle = {
    ...{ ...trained, spec: encodeJobSpec(job.spec), terms: encodeTerms(job.terms), policy: policyBytes(job), run },
    sessions: [{ ...shownSession(evidence, released), appraisedAt: released.release.grantedAt }],
    endorsements: parseEndorsements(released.result.endorsements),
    segments: await Promise.all(segments),
    seal: { session: 0, bytes: new Uint8Array([...teeSelector, ...seal]) },
  };
  return { bundle, policy };
}

describe.each<[Kind, (keyof EndorsementRecord)[]]>([
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
