/** The escrow that fits a job's assurance: what the contract demands before it pays (contracts/SPEC.md §5, §7). */
import { randomBytes } from 'node:crypto';
import { compareBytes, ConfigurationError, equalBytes, fromHex, isZero, keccak } from '#attestation/base';
import {
  clientQuorum,
  closingBond,
  dutySelectorOf,
  evaluationPlanOf,
  JobMode,
  needsTee,
  quorumRemedy,
  samplesMaxOf,
  specDigestOf,
  teeSelector,
  termsFit,
  type Assurance,
  type JobSpec,
  type Terms,
} from '#attestation/records';
import { chainSettings, windowOf, type ChainKind, type ChainSettings } from '#libs/settlement';
import { divideSteps, initialWeights, type JobManifest, type Weights } from '#libs/step';
import { keccakMany } from '#libs/zk/commit';
import { commitmentsOfJob } from '#libs/zk/groth16/commitment';
import { runLength, type RunLength, type RunWish } from './run-length.js';

export interface EscrowParties {
  readonly client: Uint8Array;
  /** 0x-hexadecimal. */
  readonly provider: string;
  readonly keyBroker: string;
  /** Accounts of which `needed` must vouch for every session beside the key broker, 0x-hexadecimal. */
  readonly attestors?: readonly string[] | undefined;
  readonly needed?: number | undefined;
  /** On-chain policy that every session's SNP evidence must meet, 0x-hexadecimal; absent: none. */
  readonly snpPolicy?: string | undefined;
}

const hour = 3600;
/** Limit of contracts/src/TermsRules.sol. */
const windowMax = 2 ** 24 - 1;
const wholeBps = 10_000;

/**
 * Without a TEE nothing seals a delivery, so the key cannot be revealed against payment: such a job pays for proofs,
 * and the result comes through the control plane.
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
  /** What the windows were measured by. */
  readonly run: RunLength;
  /** What may keep a host with default settings from taking the job, and what helps; one sentence each. */
  readonly advice: readonly string[];
}

/** What becomes of a job for an enclave whose attestation lapses: another enclave, or proofs of every segment. */
export type OnLapse = 'tee' | 'zk';

export interface Order {
  readonly rewardWei: bigint;
  readonly onLapse: OnLapse;
  /** Segments that are drawn, of a job with assurance sampled. */
  readonly samples: number;
  readonly kind: ChainKind;
  /** What publishing the result on the chain costs at present, in wei. */
  readonly publishWei: bigint;
  readonly run?: RunWish | undefined;
  /** Absent: what the manifest's seed draws. */
  readonly start?: Weights | undefined;
}

/** @throws ConfigurationError JOB_SAMPLES, JOB_SAMPLED_CHAIN, JOB_ATTESTORS, JOB_RUN */
export function termsFor(spec: JobSpec, manifest: JobManifest, parties: EscrowParties, order: Order): Agreed {
  const seed = new Uint8Array(randomBytes(32));
  const run = runLength(spec, manifest, isProvedUnder(spec, order), order.run);
  const terms = termsUnder(keccak(seed), spec, manifest, parties, { ...order, run });
  requireShort(terms, run);
  if (needsTee(spec.assurance)) requireAttestation(terms, chainSettings[order.kind], order.kind);
  termsFit(spec, terms, { runSeconds: run.runSeconds, benchSeconds: run.proofSeconds });
  return { seed, terms, run, advice: adviceOn(spec, terms, order.kind) };
}

function isProvedUnder({ assurance }: JobSpec, { onLapse }: Pick<Order, 'onLapse'>): boolean {
  return assurance !== 'tee' || onLapse === 'zk';
}

function termsUnder(
  seedCommitClient: Uint8Array,
  spec: JobSpec,
  manifest: JobManifest,
  parties: EscrowParties,
  order: Omit<Order, 'run'> & { readonly run: RunLength },
): Terms {
  const { rewardWei, onLapse, samples, kind, publishWei, run, start = initialWeights(manifest, keccakMany) } = order;
  const isProved = isProvedUnder(spec, { onLapse });
  const isEither = spec.assurance === 'tee' && isProved;
  const ending = isEither ? JobMode.tee : modes[spec.assurance];
  const mode = ending | (evaluationPlanOf(spec)?.stop ? JobMode.early : 0);
  const isSampled = spec.assurance === 'sampled';
  const { rounds: segments } = divideSteps(manifest, spec);
  if (isSampled) checkSamples(segments, samples);
  const chain = chainSettings[kind];
  const { proofsPerSegment } = chain;
  if (isSampled && chain.sample === null) throw noSample(kind);
  const isRevealed = (mode & JobMode.reveal) !== 0;
  const attestors = [...(parties.attestors ?? [])].map(fromHex).sort(compareBytes);
  const hold = isProved ? chain.hold : 0;
  return {
    client: parties.client,
    provider: fromHex(parties.provider),
    keyBroker: fromHex(parties.keyBroker),
    token: new Uint8Array(20),
    specDigest: specDigestOf(spec),
    initialWeights: commitmentsOfJob(spec, manifest, null).border(0, start),
    policy: spec.policyDigest,
    snpPolicy: parties.snpPolicy === undefined ? new Uint8Array(32) : fromHex(parties.snpPolicy),
    planDigest: spec.proving?.planDigest ?? new Uint8Array(32),
    attestors,
    needed: parties.needed ?? attestors.length,
    teeSelector,
    dutySelectors: isProved ? [dutySelectorOf(spec)] : [],
    price: rewardWei,
    stake: (rewardWei * BigInt(chain.stakeBps)) / BigInt(wholeBps),
    liveness: (rewardWei * BigInt(chain.livenessBps)) / BigInt(wholeBps),
    bond: isEither ? closingBond : rewardWei / 10n,
    bondFee: rewardWei / 100n,
    publishFee: 6n * publishWei + 1n,
    failShareBps: 0,
    holdbackBps: isRevealed || hold !== 0 ? wholeBps : 0,
    segments,
    samples: isSampled ? samples : 0,
    ...{ unit: 0, unitSegments: 1, parts: 1, providers: new Uint8Array(32) },
    mode,
    seedCommitClient,
    acceptBy: Math.floor(Date.now() / 1000) + hour,
    windows: {
      start: chain.answer,
      compute: windowOf(chain.compute, run.runSeconds),
      finality: isSampled ? chain.finality : 0,
      draw: isSampled ? chain.sample!.draw : 0,
      challenge:
        ending === (JobMode.tee | JobMode.reveal)
          ? chain.challengeSealed
          : windowOf(chain.challengeUnsealed, run.trainSeconds),
      // The first proof may be late by as much as each further one.
      prove: isProved ? chain.prove + Math.max(hour, proofsPerSegment * run.proofSeconds) : 0,
      provePer: proofsPerSegment * run.proofSeconds,
      hold,
      reveal: isRevealed ? chain.answer : 0,
      ack: isRevealed ? chain.answer : 0,
      drawBlocks: isSampled ? chain.sample!.drawBlocks : 0,
    },
  };
}

/** @throws ConfigurationError JOB_RUN where a window would be longer than the contract takes */
function requireShort({ windows }: Terms, { runSeconds, proofSeconds }: RunLength): void {
  const longest = Math.max(...[windows.compute, windows.challenge, windows.prove, windows.provePer]);
  if (longest <= windowMax) return;
  throw new ConfigurationError('JOB_RUN', {
    expected: `windows of at most ${windowMax} seconds`,
    got: `${longest}, for a run of ${runSeconds} seconds and ${proofSeconds} for a proof`,
    rule: 'contracts/SPEC.md §19',
    action: 'say with --run-hours and --proof-seconds how long they take, or divide the training into several jobs',
  });
}

/** A host with default settings works off a local chain for no client that can end the job unpaid. */
function adviceOn({ assurance }: JobSpec, terms: Terms, kind: ChainKind): readonly string[] {
  if (!needsTee(assurance) || kind === 'local') return [];
  const quorum = clientQuorum(terms);
  if (!quorum.isAlone) return [];
  const remedy = quorumRemedy(terms, quorum);
  return [`a host with default settings refuses this job (HOST_TERMS_QUORUM): ${remedy}`];
}

/**
 * Requires that the terms name who appraises the enclave beside a broker that is not the client itself.
 * @throws ConfigurationError JOB_ATTESTORS
 */
function requireAttestation({ client, keyBroker, needed, snpPolicy }: Terms, chain: ChainSettings, kind: string): void {
  const { needed: asked, withSnpPolicy } = chain.attestation;
  const isOwn = equalBytes(client, keyBroker);
  const byChain = isZero(snpPolicy) ? 0 : withSnpPolicy === 'instead' ? asked : withSnpPolicy === 'oneLess' ? 1 : 0;
  const least = Math.max(0, asked - byChain);
  if (isOwn || needed >= least) return;
  throw new ConfigurationError('JOB_ATTESTORS', {
    expected: `at least ${least} attestors on a chain of kind ${kind}, or an SNP policy on chain`,
    got: `${needed}`,
    rule: 'contracts/SPEC.md §19',
    action: 'name them with --attestors and --needed, or a policy with --snp-policy',
  });
}

function noSample(kind: string): ConfigurationError {
  return new ConfigurationError('JOB_SAMPLED_CHAIN', {
    expected: 'a chain whose BLOCKHASH is the hash of a header',
    got: `one of kind ${kind}`,
    rule: 'contracts/SPEC.md §19',
    action: 'ask for a proof of every segment with --assurance zk',
  });
}

/** @throws ConfigurationError JOB_SAMPLES */
export function checkSamples(segments: number, samples: number): void {
  const most = samplesMaxOf(segments);
  if (samples <= most) return;
  throw new ConfigurationError('JOB_SAMPLES', {
    expected: `at most ${most} samples of ${segments} segments`,
    got: String(samples),
    rule: 'contracts/SPEC.md §8',
    action: 'ask for fewer with --samples, or for a proof of every segment with --assurance zk',
  });
}
