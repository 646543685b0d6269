/** Who is who in a job that is proved: its spec and its escrow, and what the client checks before it pays. */
import { randomBytes } from 'node:crypto';
import {
  equalBytes,
  jobIdOf,
  JobMode,
  keccak,
  Rejection,
  teeSelector,
  toHex,
  type Assurance,
  type JobSpec,
  type StepStatement,
  type Terms,
} from '#attestation';
import { addressBytes, type Deployment } from '#libs/settlement';
import { canonicalManifest, manifestDigest, type Manifest } from '#libs/step';

export interface ProvedJobRequest {
  readonly manifest: Manifest;
  readonly root: Uint8Array;
  readonly records: number;
  readonly assurance: Assurance;
  readonly recipient: Uint8Array;
  readonly deployment: Deployment;
}

export function provedSpec({ manifest, root, records, assurance, recipient, deployment }: ProvedJobRequest): JobSpec {
  return {
    version: 1,
    manifest: canonicalManifest(manifest),
    dataset: { id: new Uint8Array(randomBytes(32)), root, records, shards: 1 },
    segmentSteps: manifest.superblock,
    scheme: 'fxt-zk/1',
    policyDigest: new Uint8Array(32),
    assurance,
    recipient,
    settlement: { chainId: deployment.chainId, contract: addressBytes(deployment.settlement) },
    salt: new Uint8Array(randomBytes(32)),
  };
}

const hour = 3600;

/**
 * Optimistic terms with a short window: no verifier of step proofs is entered in the router, so the client checks the
 * proofs itself and pays by voucher; the escrow then runs out without a challenge.
 */
export function provedTerms(
  spec: JobSpec,
  segments: number,
  genesisDigest: Uint8Array,
  parties: { readonly client: Uint8Array; readonly provider: Uint8Array; readonly price: bigint },
): Terms {
  const { client, provider, price } = parties;
  return {
    ...{ client, provider, keyBroker: new Uint8Array(20), token: new Uint8Array(20) },
    specDigest: jobIdOf(spec),
    initialWeights: genesisDigest,
    policy: spec.policyDigest,
    ...{ minTier: 0, teeSelector, dutySelectors: [teeSelector] },
    ...{ price, stake: price / 2n, liveness: price / 20n, bond: price / 10n, bondFee: price / 100n },
    ...{ failShareBps: 0, holdbackBps: 0, segments, samples: 0 },
    mode: JobMode.optimistic,
    seedCommitClient: keccak(new Uint8Array(randomBytes(32))),
    acceptBy: Math.floor(Date.now() / 1000) + hour,
    windows: {
      ...{ start: hour, compute: hour, draw: 0, challenge: 2, prove: hour, provePer: hour, hold: 0, reveal: 0, ack: 0 },
    },
  };
}

/**
 * The statements, in order, are the whole job: from the start that the client fixed, over the client's data, without a
 * gap.
 *
 * @returns border 0 … border K
 * @throws Rejection PROVED_JOB naming the segment
 */
export function checkChain(
  statements: readonly StepStatement[],
  spec: JobSpec,
  manifest: Manifest,
  genesisDigest: Uint8Array,
): Uint8Array[] {
  const borders = [genesisDigest];
  let step = 0;
  for (const [index, statement] of statements.entries()) {
    const holds =
      equalBytes(statement.jobId, jobIdOf(spec)) &&
      equalBytes(statement.programDigest, manifestDigest(manifest)) &&
      equalBytes(statement.datasetRoot, spec.dataset.root) &&
      statement.stepFrom === step &&
      equalBytes(statement.weightsBefore, borders.at(-1)!);
    if (!holds)
      refuse(`segment ${index} from step ${step} and weights ${toHex(borders.at(-1)!)}`, `${statement.stepFrom}`);
    borders.push(statement.weightsAfter);
    step += statement.stepCount;
  }
  if (step !== manifest.steps) refuse(`proofs of ${manifest.steps} steps`, `${step}`);
  return borders;
}

function refuse(expected: string, got: string): never {
  throw new Rejection('PROVED_JOB', { expected, got, rule: 'proof SPEC §3', action: 'do not pay' });
}
