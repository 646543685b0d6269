/** The escrow that fits a job's assurance: what the contract demands before it pays (settlement §5, §7). */
import { randomBytes } from 'node:crypto';
import {
  ConfigurationError,
  fromHex,
  JobMode,
  keccak,
  needsTee,
  specDigestOf,
  teeSelector,
  type Assurance,
  type JobSpec,
  type Terms,
} from '#attestation';
import { zkSelector } from '#libs/settlement';
import { divideSteps, initialWeights, type Manifest } from '#libs/step';
import { commitmentsOfJob } from '#libs/zk/groth16/commitment';
import { groth16SchemeId, groth16Selector } from '#libs/zk/verifier';

export interface EscrowParties {
  readonly client: Uint8Array;
  /** 0x-hexadecimal. */
  readonly provider: string;
  readonly keyBroker: string;
}

const hour = 3600;
/** Of contracts/src/TermsRules.sol. */
const samplesPerSegment = 8;

/**
 * Without a TEE nothing seals a delivery, so the key cannot be revealed against payment: such a job pays for proofs, and
 * the result comes through the control plane.
 */
const modes: Readonly<Record<Assurance, number>> = {
  tee: JobMode.tee | JobMode.reveal,
  zk: JobMode.full,
  'tee+zk': JobMode.tee | JobMode.full | JobMode.reveal,
  sampled: JobMode.sample,
};

export interface Agreed {
  readonly terms: Terms;
  /** Preimage of seedCommitClient: draws a sample, which nobody else may foresee before the run is committed. */
  readonly seed: Uint8Array;
}

/** What becomes of a job for an enclave whose attestation lapses: another enclave, or proofs of every segment. */
export type OnLapse = 'tee' | 'zk';

export interface Order {
  readonly rewardWei: bigint;
  readonly onLapse: OnLapse;
  /** Segments that are drawn, of a job with assurance sampled. */
  readonly samples: number;
}

/** @throws ConfigurationError JOB_SAMPLES */
export function termsFor(spec: JobSpec, manifest: Manifest, parties: EscrowParties, order: Order): Agreed {
  const seed = new Uint8Array(randomBytes(32));
  return { seed, terms: termsUnder(keccak(seed), spec, manifest, parties, order) };
}

function termsUnder(
  seedCommitClient: Uint8Array,
  spec: JobSpec,
  manifest: Manifest,
  parties: EscrowParties,
  { rewardWei, onLapse, samples }: Order,
): Terms {
  const isEither = spec.assurance === 'tee' && onLapse === 'zk';
  const mode = isEither ? JobMode.tee : modes[spec.assurance];
  const isProved = spec.assurance !== 'tee' || isEither;
  const isSealed = needsTee(spec.assurance);
  const isSampled = spec.assurance === 'sampled';
  const { rounds: segments } = divideSteps(manifest, spec);
  if (isSampled && samples > samplesPerSegment * segments) throw tooManySamples(segments, samples);
  const isRevealed = (mode & JobMode.reveal) !== 0;
  return {
    client: parties.client,
    provider: fromHex(parties.provider),
    keyBroker: fromHex(parties.keyBroker),
    token: new Uint8Array(20),
    specDigest: specDigestOf(spec),
    initialWeights: commitmentsOfJob(spec, manifest, null).border(0, initialWeights(manifest)),
    policy: spec.policyDigest,
    minTier: isSealed ? 1 : 0,
    teeSelector,
    dutySelectors: isProved ? [spec.scheme === groth16SchemeId ? groth16Selector : zkSelector] : [],
    price: rewardWei,
    stake: rewardWei / 2n,
    liveness: rewardWei / 20n,
    bond: rewardWei / 10n,
    bondFee: rewardWei / 100n,
    failShareBps: 0,
    holdbackBps: 0,
    segments,
    samples: isSampled ? samples : 0,
    mode,
    seedCommitClient,
    acceptBy: Math.floor(Date.now() / 1000) + hour,
    windows: {
      start: hour,
      compute: 24 * hour,
      draw: isSampled ? hour : 0,
      challenge: 0,
      prove: isProved ? hour : 0,
      provePer: isProved ? hour : 0,
      hold: 0,
      reveal: isRevealed ? hour : 0,
      ack: isRevealed ? hour : 0,
    },
  };
}

function tooManySamples(segments: number, samples: number): ConfigurationError {
  return new ConfigurationError('JOB_SAMPLES', {
    expected: `at most ${samplesPerSegment * segments} samples of ${segments} segments`,
    got: String(samples),
    rule: 'settlement §5',
    action: 'ask for fewer with --samples, or for a proof of every segment with --assurance zk',
  });
}
