/**
 * Bundles of whole machines under made-up vendors: what the real key broker released to such a session, and the run that it
 * signed. Whoever makes one has replaced the vendors' pins by those of its vendors, for the broker and for the reader.
 */
import { documentDigest, spelled, type AppraisalPolicy } from '#attestation';
import { fromHex, utf8 } from '#attestation/base';
import {
  domainSeparator,
  encodeJobSpec,
  encodeStepStatement,
  encodeTerms,
  escrowIdOf,
  parseEndorsements,
  parseStepStatement,
  runDigest,
  runKeysDigest,
  signReceipt,
  teeSelector,
  type EndorsementRecord,
  type EvidenceBundle,
} from '#attestation/records';
import { createSessionKeys } from '../../enclave/src/keys.js';
import type { FakeRoot } from './fake-intel.js';
import { gpuMachineAt, gpuPolicy, madeTd, tdxPolicy, type GpuVendor, type SessionInMachine } from './made-machine.js';
import { shownSession } from './tiny-bundle.js';
import { chainId, contract, policyBytes, provider, registry, releaseRequest, tinyBroker, tinyJob } from './tiny-job.js';

interface Made {
  readonly evidence: Uint8Array;
  readonly endorsements: EndorsementRecord;
  readonly at: number;
}

export type MachineKind = 'H100' | 'TDX';
const policies: Record<MachineKind, AppraisalPolicy> = { H100: gpuPolicy, TDX: tdxPolicy };

export interface MachineParts {
  readonly vendor: GpuVendor;
  readonly intel: FakeRoot;
  /** Whose segments the session says that it trained. */
  readonly trained: EvidenceBundle;
}

interface MachineBundle {
  readonly bundle: EvidenceBundle;
  readonly policy: AppraisalPolicy;
}

/** @param kept of the endorsements, what the broker has @throws Rejection APPRAISAL_REFUSED where that is not enough */
export async function machineBundle(
  kind: MachineKind,
  { vendor, intel, trained }: MachineParts,
  kept: (all: EndorsementRecord) => EndorsementRecord = (all) => all,
): Promise<MachineBundle> {
  const made = async (of: SessionInMachine): Promise<Made> => {
    if (kind === 'TDX') return madeTd(provider, intel, of);
    return { ...(await vendor.session(provider, 1, of)), at: gpuMachineAt };
  };
  const policy = policies[kind];
  const spec = { policyDigest: fromHex(documentDigest(policy)) };
  const job = { ...(await tinyJob({ spec })), policy };
  const keys = await createSessionKeys({ provider, chainId, registry });
  const of = (nonce: Uint8Array): SessionInMachine => ({ nonce, binding: keys.binding, sign: keys.signReceipt });
  let machine = await made(of(new Uint8Array(32)));
  const { at } = machine;
  const { broker, nonces } = await tinyBroker(job, {
    policyFiles: [utf8(JSON.stringify(policy))],
    collateral: () => kept(machine.endorsements),
  });
  machine = await made(of(nonces.issue(job.jobId, at).nonce));
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
    endorsements: spelled(parseEndorsements(released.result.endorsements)),
    segments: await Promise.all(segments),
    seal: { session: 0, bytes: new Uint8Array([...teeSelector, ...seal]) },
  };
  return { bundle, policy };
}
