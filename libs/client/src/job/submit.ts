/** From a manifest and a sealed data set to a funded job. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { x25519 } from '@noble/curves/ed25519.js';
import { formatEther, Wallet } from 'ethers';
import { ConfigurationError, to0x, toBase64 } from '#attestation/base';
import {
  chunkBytes,
  chunksMax,
  datasetManifestBytesMax,
  encodeJobSpec,
  escrowIdOf,
  isNetDataset,
  jobIdOf,
  readSealedDataset,
  termsJson,
  type JobSpec,
  type SealedDataset,
  type Terms,
} from '#attestation/records';
import {
  addressBytes,
  chainKindOf,
  checkRandao,
  connect,
  publishEstimate,
  registerGroth16Key,
  SettlementClient,
} from '#libs/settlement';
import { startWeights } from '#libs/review';
import {
  canonicalManifest,
  checkBounds,
  checkStateSize,
  isNet,
  parameterCount,
  parseJobManifest,
  type JobManifest,
} from '#libs/step';
import { circuitShape } from '#libs/zk/verifier';
import type { ControlPlaneApi } from '../api/api.js';
import { uploadDataset } from '../dataset/upload.js';
import type { Watch } from '../dataset/watch.js';
import { keyAdvice } from '../dataset/key-place.js';
import { readBytes, readJson } from '../files/files.js';
import { readPolicy } from '../judging/policy.js';
import type { Profile } from '../api/profile.js';
import { readSecret } from '../files/secrets.js';
import { chooseProving, type ProvingChoice, type ProvingRequest } from './backend.js';
import { postJob } from './post-job.js';
import { checkFloor, provenUnit } from './proven-unit.js';
import { keepReading } from './reading.js';
import { keepTerms } from './record.js';
import { readStart, uploadStart } from './start.js';
import { checkDatasetFits } from './fits.js';
import { openJobsOf } from './same-dataset.js';
import type { RunLength, RunWish } from './run-length.js';
import { termsFor } from './terms.js';
import { defaultSamples } from './samples.js';

export interface SubmitRequest extends ProvingRequest {
  /** Manifest of fxt/1 or fxt/2, JSON file. */
  readonly manifest: string;
  /** Folder of the sealed data set. */
  readonly dataset: string;
  readonly segmentSteps: number;
  /** Account of the node that is to do it. */
  readonly provider: string;
  readonly rewardWei: bigint;
  /** Segments that are drawn to be proved, with assurance sampled. */
  readonly samples?: number | undefined;
  /** Attestors of whom `needed` must vouch for the enclave, 0x-hexadecimal. */
  readonly attestors?: readonly string[] | undefined;
  readonly needed?: number | undefined;
  /** On-chain SNP policy, 0x-hexadecimal. */
  readonly snpPolicy?: string | undefined;
  /** Workers that train a round of segments at a time; 1 where absent. */
  readonly parallel?: number | undefined;
  readonly run?: RunWish | undefined;
}

export interface Submitted {
  readonly jobId: string;
  readonly escrowId: string;
  readonly spec: JobSpec;
  readonly terms: Terms;
  readonly fundTransaction: string;
  readonly run: RunLength;
  /** What may keep hosts from taking it, and who reads what; one sentence each. */
  readonly advice: readonly string[];
}

/** They are no secret of the data owner's, and nothing but the data key opens what is sealed to an enclave. */
const startNotice =
  'Start weights are readable by the operators of control plane and node: they are uploaded as they are, and only checked in the enclave.';

/** @param watch  of the upload, told first what proofs will take and which jobs it may repeat, and then that it is posted */
export async function submitJob(
  request: SubmitRequest,
  profile: Profile,
  api: ControlPlaneApi,
  watch: Watch = {},
): Promise<Submitted> {
  const { manifest, dataset } = readJob(request);
  checkDatasetFits(manifest, dataset);
  const proving = chooseProving(manifest, dataset, request, profile);
  checkStateSize(manifest, { parallel: request.parallel, proving: proving.proving });
  const policy = readPolicy(profile.policy);
  const { onLapse = 'tee', samples = defaultSamples } = request;
  const unit = provenUnit(manifest, proving, request, samples, profile.chain.deployment);
  if (unit !== null && !isNet(manifest)) {
    watch.onProofs?.(unit);
    await onChain(profile.chain, (rpc) => checkFloor(manifest, proving.proving, profile.chain.deployment, rpc));
  }
  if (request.assurance === 'sampled') await onChain(profile.chain, checkRandao);
  const account = new Wallet(to0x(readSecret(profile.chain.accountKey)));
  const publishWei = await onChain(profile.chain, async (rpc) => {
    const estimated = await publishEstimate(resultBytes(manifest), rpc);
    await checkFunds(rpc, account.address, request.rewardWei);
    return estimated;
  });
  const others = await openJobsOf(to0x(dataset.id), api);
  if (others.jobs.length > 0) watch.onSameDataset?.(others.jobs);
  await uploadDataset(request.dataset, dataset, api, watch);
  const startBytes = readStart(request.manifest, manifest);
  const startBlobs = startBytes === null ? [] : await uploadStart(startBytes, api, watch);
  const spec = specOf(manifest, dataset, proving, request, profile, policy.digest);
  const parties = {
    client: addressBytes(account.address),
    provider: request.provider,
    keyBroker: profile.broker.account,
    attestors: request.attestors,
    needed: request.needed,
    snpPolicy: request.snpPolicy,
  };
  const kind = chainKindOf(profile.chain.deployment.chainId, profile.chain.kind);
  const { terms, seed, run, advice } = termsFor(spec, manifest, parties, {
    ...{ rewardWei: request.rewardWei, onLapse, samples, kind, publishWei, run: request.run },
    start: startWeights(manifest, startBytes),
  });
  await enterKey(proving, manifest, account, profile);
  await postJob(api, to0x(jobIdOf(spec)), {
    spec: toBase64(encodeJobSpec(spec)),
    terms: termsJson(terms),
    policy: toBase64(policy.bytes),
    brokerUrl: profile.broker.url,
    ...(startBlobs.length > 0 && { start: startBlobs }),
  });
  keepTerms(profile, to0x(jobIdOf(spec)), terms, seed);
  watch.onPosted?.(to0x(jobIdOf(spec)));
  if (isNetDataset(dataset)) keepReading(profile, to0x(jobIdOf(spec)), dataset.header, request.manifest, startBytes);
  const fundTransaction = await fund(terms, account, profile);
  const own = keyAdvice(profile.broker.keysFolder, dataset.id);
  const told = [...advice, ...others.advice, ...own, ...(startBytes === null ? [] : [startNotice])];
  return {
    ...{ jobId: to0x(jobIdOf(spec)), escrowId: to0x(escrowIdOf(terms)), spec, terms, fundTransaction, run },
    advice: told,
  };
}

/** @throws Rejection MANIFEST_*, STEP_RANGE_*, DATASET_MANIFEST; ConfigurationError FILE_* */
export function readJob(request: Pick<SubmitRequest, 'manifest' | 'dataset'>) {
  const manifest = parseJobManifest(readJson(request.manifest));
  if (!isNet(manifest)) checkBounds(manifest);
  const file = readBytes(join(request.dataset, 'dataset.json'), datasetManifestBytesMax);
  return { manifest, dataset: readSealedDataset(file) };
}

/** Before money moves: the contract may refuse the key. @throws Rejection GROTH16_DEVELOPMENT, GROTH16_KEY */
async function enterKey(
  { key }: ProvingChoice,
  manifest: JobManifest,
  account: Wallet,
  { chain }: Profile,
): Promise<void> {
  if (key === undefined || isNet(manifest)) return;
  await onChain(chain, async (rpc) => {
    const { deployment, feePerGasMaxWei } = chain;
    const entered = { shape: circuitShape(manifest), ceremony: key.ceremony, key: key.bytes };
    await registerGroth16Key(account.connect(rpc), deployment, entered, { feePerGasMaxWei });
  });
}

function specOf(
  manifest: JobManifest,
  dataset: SealedDataset,
  { scheme, root, proving }: ProvingChoice,
  request: SubmitRequest,
  { chain, recipientKey }: Profile,
  policyDigest: Uint8Array,
): JobSpec {
  const { deployment } = chain;
  const { assurance = 'tee', parallel = 1 } = request;
  return {
    version: 1,
    manifest: canonicalManifest(manifest),
    dataset: { id: dataset.id, root, records: dataset.records, shards: dataset.shards.length },
    segmentSteps: request.segmentSteps,
    scheme,
    proving,
    policyDigest,
    assurance,
    recipient: x25519.getPublicKey(readSecret(recipientKey)),
    settlement: { chainId: deployment.chainId, contract: addressBytes(deployment.settlement) },
    salt: new Uint8Array(randomBytes(32)),
    ...(parallel > 1 && { parallel }),
    ...validationOf(manifest, dataset),
  };
}

/**
 * Of a job that evaluates: the validation set that was sealed beside the training set.
 * @throws ConfigurationError JOB_VALIDATION where it was not
 */
function validationOf(manifest: JobManifest, dataset: SealedDataset): Pick<JobSpec, 'validation'> {
  if (!isNet(manifest) || manifest.evaluate === null) return {};
  const validation = isNetDataset(dataset) ? dataset.validation : null;
  if (validation !== null) return { validation: { root: validation.root, records: validation.records } };
  throw new ConfigurationError('JOB_VALIDATION', {
    expected: 'a data set with a validation set, on which the manifest evaluates',
    got: 'one without',
    rule: 'attestation/SPEC.md §9.10',
    action: 'seal the data again with a validation share, or leave `evaluate` and `stop` out of the manifest',
  });
}

/** Before anything is uploaded or posted. @throws ConfigurationError CHAIN_FUNDS where the account has no more than the reward */
async function checkFunds(rpc: ReturnType<typeof connect>, account: string, rewardWei: bigint): Promise<void> {
  const has = await rpc.getBalance(account);
  if (has > rewardWei) return;
  throw new ConfigurationError('CHAIN_FUNDS', {
    expected: `more than the reward of ${formatEther(rewardWei)} ether, for gas costs too, in account ${account}`,
    got: `${formatEther(has)} ether`,
    rule: 'contracts/SPEC.md §17',
    action: 'fund that account, whose key chain.accountKey of your profile names, or offer a smaller reward',
  });
}

/** Size of the encrypted weights, about; no more than can be published. */
function resultBytes(manifest: JobManifest): number {
  return Math.min(8 * parameterCount(manifest) + 1024, chunkBytes * chunksMax);
}

async function fund(terms: Terms, account: Wallet, { chain }: Profile): Promise<string> {
  return onChain(chain, async (rpc) => {
    const { deployment, feePerGasMaxWei } = chain;
    return (await new SettlementClient(deployment, account.connect(rpc), { feePerGasMaxWei }).open(terms)).txHash;
  });
}

async function onChain<T>(
  { rpcUrl, deployment, pollingMs }: Profile['chain'],
  act: (rpc: ReturnType<typeof connect>) => Promise<T>,
): Promise<T> {
  const rpc = connect(rpcUrl, deployment.chainId, pollingMs);
  try {
    return await act(rpc);
  } finally {
    rpc.destroy();
  }
}
