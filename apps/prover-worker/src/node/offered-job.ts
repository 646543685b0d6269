/** A job as the control plane offers it, checked against itself and this node's settings, and its key and data. */
import { x25519 } from '@noble/curves/ed25519.js';
import { concatBytes, equalBytes, fromHex, isZero, Rejection, signRecoverable, to0x } from '#attestation/base';
import {
  domainSeparator,
  dutySelectorOf,
  encodeTerms,
  escrowIdOf,
  hostSecretOf,
  jobIdOf,
  JobMode,
  mayBeProvedInstead,
  parseDatasetManifest,
  parseJobSpec,
  parseTermsJson,
  proverRequestDigest,
  specDigestOf,
  termsFit,
  type JobSpec,
  type Terms,
} from '#attestation/records';
import {
  brokerPatience,
  createBrokerClient,
  greatestWindows,
  isOfBroker,
  machine,
  note,
  type CipherStore,
  type ProverRelease,
} from '#libs/node';
import { dearestProofCost, groth16Admission, planOf, proofCost } from '#libs/proof';
import { openDataKey, openShard } from '#libs/sealing';
import { divideSteps, parseManifestText, trainingSeconds } from '#libs/step';
import type { AssignedJob } from '#libs/wire';
import { checkRoom, groth16SchemeId, isInTwoParts } from '#libs/zk/verifier';
import type { JobInput } from '../compute/job.js';
import { openKeyFolder } from '../proving/key-folder.js';
import type { OpenedInput } from './kept-witness.js';
import type { ProverSettings } from './settings.js';

export interface OfferedJob {
  readonly jobId: string;
  readonly spec: JobSpec;
  readonly specBytes: Uint8Array;
  readonly terms: Terms;
  readonly job: AssignedJob;
  /** That one proof may take. */
  readonly proofSeconds: number;
}

export interface EntrustedJob extends OfferedJob {
  readonly dataKey: Uint8Array;
  /** What starts the escrow. */
  readonly release: ProverRelease;
}

/**
 * @throws ConfigurationError GROTH16_KEY_MISSING; Rejection PROVER_JOB when its parts do not belong together, or no proof can be
 *   made for it; TERMS_* of what all who sign demand, STEP_PLAN, STEP_STATEMENT
 */
export function readOffer(
  job: AssignedJob,
  settings: Pick<ProverSettings, 'chain' | 'groth16Keys' | 'escrow' | 'memoryMiB' | 'proves'>,
): OfferedJob {
  const { chain, groth16Keys, escrow } = settings;
  const specBytes = new Uint8Array(Buffer.from(job.spec, 'base64'));
  const spec = parseJobSpec(specBytes);
  const terms = parseTermsJson(job.terms);
  agree('job id', job.jobId, to0x(jobIdOf(spec)));
  agree('escrow', job.escrowId, to0x(escrowIdOf(terms)));
  agree('spec digest of the terms', to0x(specDigestOf(spec)), to0x(terms.specDigest));
  agree('chain', chain.deployment.chainId, spec.settlement.chainId);
  agree('contract', chain.deployment.settlement.toLowerCase(), to0x(spec.settlement.contract));
  const isGroth16 = spec.scheme === groth16SchemeId;
  if (isGroth16) {
    agree('assurance', 'zk', spec.assurance);
    const { shape } = groth16Admission(parseManifestText(spec.manifest));
    openKeyFolder(groth16Keys, spec.proving!.planDigest, shape);
  } else {
    agree('scheme', 'fxt-zk/1', spec.scheme);
    agree('variant', 'separate', spec.proving?.variant);
  }
  if (spec.assurance === 'tee' && !mayBeProvedInstead(spec, terms)) {
    throw refused('a job whose steps are, or may be, proved', spec.assurance);
  }
  const met = dutySelectorOf(spec);
  if (!terms.dutySelectors.some((selector) => equalBytes(selector, met))) {
    throw refused(`terms that proofs in scheme ${spec.scheme} meet`, `${terms.dutySelectors.length} other selectors`);
  }
  // The plan of a Groth16 key is what its folder was checked against.
  const { plan, proofSeconds } = isGroth16
    ? { plan: spec.proving!.planDigest, proofSeconds: escrow.proofSeconds }
    : provable(spec, terms, settings);
  const [benchSeconds, answerMin] = [proofSeconds, escrow.answerMinWei];
  termsFit(spec, terms, { plan, greatest: greatestWindows(escrow), benchSeconds, answerMin });
  return { jobId: job.jobId, spec, specBytes, terms, job, proofSeconds };
}

interface Provable {
  /** 32 bytes. */
  readonly plan: Uint8Array;
  /** That a proof may take. */
  readonly proofSeconds: number;
}

/**
 * As the manifest and the named profile lead to it. Whoever cannot prove under it, or discharge, must not stake.
 *
 * @throws Rejection PROVER_JOB; STEP_STATEMENT of a data set that one proof has no room for
 */
function provable(
  { manifest, proving, dataset }: JobSpec,
  { samples }: Pick<Terms, 'samples'>,
  { chain, escrow, memoryMiB, proves }: Pick<ProverSettings, 'chain' | 'escrow' | 'memoryMiB' | 'proves'>,
): Provable {
  const { profile, variant } = proving!;
  const m = parseManifestText(manifest);
  const plan = planOf({ manifest: m, profile, variant });
  const { gas, memoryBytes, cpuSeconds } = dearestProofCost(m, plan, samples);
  if (gas === undefined) {
    const drawn = samples === 0 ? '' : ` with ${samples} samples`;
    throw refused('a plan whose proofs a contract takes', `${profile} for this manifest${drawn}`);
  }
  if (isInTwoParts(plan.profile) && chain.deployment.extensions?.zkSplitVerifier === undefined) {
    throw refused('a set of contracts that takes proofs in two transactions', 'one without');
  }
  if (plan.shape.segmentVars > 0 && chain.deployment.extensions?.zkUnitMatmuls === undefined) {
    throw refused('a set of contracts that takes proofs of several segments', 'one without');
  }
  checkRoom(plan.shape, dataset.records);
  const needed = Math.ceil((memoryMargin * memoryBytes) / 2 ** 20);
  const most = Math.min(memoryMiB, machine.memoryMiB);
  if (proves && needed > most) throw refused(`proofs for ${most} MiB of memory`, `${needed} MiB under ${profile}`);
  return { plan: plan.digest, proofSeconds: secondsOfProof(cpuSeconds, escrow) };
}

/** What the settings say of a proof, or what is expected of its plan, whichever is more. */
const secondsOfProof = (cpuSeconds: number, { proofSeconds }: Pick<ProverSettings['escrow'], 'proofSeconds'>): number =>
  Math.max(proofSeconds, Math.ceil(cpuSeconds));

/** Over what is expected: 64 steps under `steps128` were expected at 2,152 MiB, and took 2,202. */
const memoryMargin = 1.05;

/** Before a node accepts a whole job with its stake. @throws Rejection PROVER_JOB */
export function checkTerms({ spec, terms }: OfferedJob, account: Uint8Array, limits: ProverSettings['escrow']): void {
  const mode = spec.assurance === 'sampled' ? JobMode.sample : JobMode.full;
  if (!mayBeProvedInstead(spec, terms)) agree('mode', mode, terms.mode);
  agree('provider', to0x(account), to0x(terms.provider));
  if (!isZero(terms.token) && !limits.tokens.includes(to0x(terms.token))) {
    throw refused('the native coin, or a token of the settings', to0x(terms.token));
  }
  atLeast('price', limits.priceMinWei, terms.price);
  atLeast('room for the stake', terms.stake, limits.stakeMaxWei);
  // Until then an escrow that nobody accepts holds a place on this disk.
  atLeast('a latest acceptBy', terms.acceptBy, Math.floor(Date.now() / 1000) + limits.windowMaxSeconds);
  const run = runSeconds(spec, limits);
  atLeast('seconds to compute', Math.max(limits.computeMinSeconds, 2 * run), terms.windows.compute);
  atLeast('seconds to prove', limits.proveMinSeconds, terms.windows.prove);
}

/** Until it can be committed: trained by one machine, and every segment proved by one. */
function runSeconds(
  spec: JobSpec,
  { proofSeconds, multiplyAddsPerSecond }: Pick<ProverSettings['escrow'], 'proofSeconds' | 'multiplyAddsPerSecond'>,
): number {
  const manifest = parseManifestText(spec.manifest);
  const { rounds } = divideSteps(manifest, spec);
  const { scheme, proving } = spec;
  const expected = scheme === groth16SchemeId ? 0 : proofCost(planOf({ manifest, ...proving! })).cpuSeconds;
  return trainingSeconds(manifest, rounds, multiplyAddsPerSecond) + rounds * secondsOfProof(expected, { proofSeconds });
}

/** Asks the data owner's broker for the key. @throws Rejection BROKER_*, OPENING_BUDGET; CollateralError BROKER_* */
export async function entrust(offer: OfferedJob, settings: ProverSettings, stop?: AbortSignal): Promise<EntrustedJob> {
  const patience = brokerPatience({
    withinMs: 1000 * settings.brokerWaitSeconds,
    goesOn: () => stop?.aborted !== true,
    onPause: (error) => note('broker', error),
  });
  const broker = createBrokerClient(offer.job.brokerUrl, settings.brokers, patience);
  const jobId = fromHex(offer.jobId);
  const secret = x25519.utils.randomSecretKey();
  const transportKey = x25519.getPublicKey(secret);
  const terms = encodeTerms(offer.terms);
  const { release, digest } = await patience.keep(async () => {
    const nonce = await broker.challenge(offer.jobId);
    const asked = proverRequestDigest(jobId, nonce, transportKey);
    const signature = signRecoverable(asked, settings.accountSecret);
    const request = { spec: offer.specBytes, terms, nonce, transportKey, signature };
    return { release: await broker.entrust(request), digest: asked };
  }, isOfBroker);
  const { datasetId, key } = await openDataKey(release.sealedKey, { jobId, aad: digest }, secret);
  agree('data set of the key', to0x(offer.spec.dataset.id), to0x(datasetId));
  return { ...offer, dataKey: key, release };
}

/** Fetches and opens the data. @throws Rejection SHARD_*, DATASET_MANIFEST */
export async function openInput(
  { spec, specBytes, terms, job, dataKey, release }: EntrustedJob,
  store: CipherStore,
  hostRoot: Uint8Array,
): Promise<OpenedInput> {
  const dataset = parseDatasetManifest(job.datasetManifest);
  const records: Uint8Array[] = [];
  for (const index of dataset.shards.keys()) {
    records.push(await openShard(dataset, index, await store.shard(to0x(dataset.id), index), dataKey));
  }
  const { chainId, contract } = spec.settlement;
  const escrow = escrowIdOf(terms);
  const input: JobInput = {
    spec: specBytes,
    dataset: job.datasetManifest,
    escrow: { domain: domainSeparator({ chainId, verifyingContract: contract }), job: escrow },
    // Without an enclave nothing is held back: whoever proves has the data key, whatever account it works for.
    hostSecret: (terms.mode & JobMode.tee) === 0 ? new Uint8Array(32) : hostSecretOf(hostRoot, escrow),
    initialWeights: terms.initialWeights,
    dataKey,
    records: concatBytes(...records),
  };
  return { input, logged: release.logged };
}

function agree(what: string, expected: unknown, got: unknown): void {
  if (expected !== got) throw refused(`${what} ${String(expected)}`, String(got));
}

function atLeast(what: string, min: bigint | number, got: bigint | number): void {
  if (got < min) throw refused(`${what} of at least ${min}`, String(got));
}

function refused(expected: string, got: string): Rejection {
  return new Rejection('PROVER_JOB', {
    expected,
    got: got.slice(0, 120),
    rule: 'prover worker, jobs',
    action: 'offer a job that this node takes, or another node',
  });
}
