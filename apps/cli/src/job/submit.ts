/** From a manifest and a sealed data set to a funded job. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { x25519 } from '@noble/curves/ed25519.js';
import { Wallet } from 'ethers';
import {
  datasetManifestBytesMax,
  datasetManifestJson,
  encodeJobSpec,
  fromHex,
  jobDigest,
  jobIdOf,
  JobMode,
  keccak,
  readDatasetManifest,
  teeSelector,
  termsJson,
  toHex,
  weightsDigest,
  type DatasetManifest,
  type JobSpec,
  type Terms,
} from '#attestation';
import { addressBytes, connect, SettlementClient } from '#libs/settlement';
import {
  canonicalManifest,
  checkBounds,
  commitWeights,
  initialWeights,
  parseManifest,
  type Manifest,
} from '#libs/step';
import type { ControlPlaneApi } from '../api.js';
import { readBytes, readJson } from '../files.js';
import type { Profile } from '../profile.js';
import { readSecret } from '../secrets.js';
import { shardPath } from '../dataset/files.js';
import { keepTerms } from './record.js';
import { readPolicy } from '../policy.js';

export interface SubmitRequest {
  /** fxt/1 manifest, JSON file. */
  readonly manifest: string;
  /** Folder of the sealed data set. */
  readonly dataset: string;
  readonly segmentSteps: number;
  /** Account of the node that is to do it. */
  readonly provider: string;
  readonly rewardWei: bigint;
}

export interface Submitted {
  readonly jobId: string;
  readonly escrowId: string;
  readonly spec: JobSpec;
  readonly terms: Terms;
  readonly fundTransaction: string;
}

const hour = 3600;

export async function submitJob(request: SubmitRequest, profile: Profile, api: ControlPlaneApi): Promise<Submitted> {
  const manifest = parseManifest(readJson(request.manifest));
  checkBounds(manifest);
  const dataset = readDatasetManifest(readBytes(join(request.dataset, 'dataset.json'), datasetManifestBytesMax));
  const policy = readPolicy(profile.policy);
  await uploadDataset(request.dataset, dataset, api);
  const spec = specOf(manifest, dataset, request, profile, policy.digest);
  const account = new Wallet(`0x${toHex(readSecret(profile.chain.accountKey))}`);
  const terms = termsOf(spec, manifest, request, profile, addressBytes(account.address));
  await api.post('jobs', {
    spec: base64(encodeJobSpec(spec)),
    terms: termsJson(terms),
    policy: base64(policy.bytes),
    brokerUrl: profile.broker.url,
  });
  keepTerms(profile, hex(jobIdOf(spec)), terms);
  const fundTransaction = await fund(terms, account, profile);
  return { jobId: hex(jobIdOf(spec)), escrowId: hex(jobDigest(terms)), spec, terms, fundTransaction };
}

async function uploadDataset(folder: string, dataset: DatasetManifest, api: ControlPlaneApi): Promise<void> {
  await api.post('datasets', { manifest: datasetManifestJson(dataset) });
  for (const [index, shard] of dataset.shards.entries()) {
    await api.put(`datasets/${hex(dataset.id)}/shards/${index}`, readBytes(shardPath(folder, index), shard.bytes));
  }
}

function specOf(
  manifest: Manifest,
  dataset: DatasetManifest,
  request: SubmitRequest,
  { chain, recipientKey }: Profile,
  policyDigest: Uint8Array,
): JobSpec {
  const { deployment } = chain;
  return {
    version: 1,
    manifest: canonicalManifest(manifest),
    dataset: { id: dataset.id, root: dataset.root, records: dataset.records, shards: dataset.shards.length },
    segmentSteps: request.segmentSteps,
    scheme: 'state-keccak',
    policyDigest,
    assurance: 'tee',
    recipient: x25519.getPublicKey(readSecret(recipientKey)),
    settlement: { chainId: deployment.chainId, contract: addressBytes(deployment.settlement) },
    salt: new Uint8Array(randomBytes(32)),
  };
}

function termsOf(
  spec: JobSpec,
  manifest: Manifest,
  request: SubmitRequest,
  profile: Profile,
  client: Uint8Array,
): Terms {
  const { rewardWei } = request;
  return {
    client,
    provider: fromHex(request.provider),
    keyBroker: fromHex(profile.broker.account),
    token: new Uint8Array(20),
    specDigest: jobIdOf(spec),
    initialWeights: weightsDigest(commitWeights(spec.scheme, manifest, initialWeights(manifest))),
    policy: spec.policyDigest,
    minTier: 1,
    teeSelector,
    dutySelectors: [],
    price: rewardWei,
    stake: rewardWei / 2n,
    liveness: rewardWei / 20n,
    bond: rewardWei / 10n,
    bondFee: rewardWei / 100n,
    failShareBps: 0,
    holdbackBps: 0,
    segments: Math.ceil(manifest.steps / request.segmentSteps),
    samples: 0,
    mode: JobMode.tee | JobMode.reveal,
    seedCommitClient: keccak(new Uint8Array(randomBytes(32))),
    acceptBy: Math.floor(Date.now() / 1000) + hour,
    windows: {
      start: hour,
      compute: 24 * hour,
      draw: 0,
      challenge: 0,
      prove: 0,
      provePer: 0,
      hold: 0,
      reveal: hour,
      ack: hour,
    },
  };
}

async function fund(terms: Terms, account: Wallet, { chain }: Profile): Promise<string> {
  const rpc = connect(chain.rpcUrl, chain.deployment.chainId, chain.pollingMs);
  try {
    const { txHash } = await new SettlementClient(chain.deployment, account.connect(rpc)).open(terms);
    return txHash;
  } finally {
    rpc.destroy();
  }
}

function hex(bytes: Uint8Array): string {
  return `0x${toHex(bytes)}`;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
