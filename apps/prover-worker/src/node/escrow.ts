/** The prover's side of the escrow: stake and start before the work; the run, its proofs and the money after it. */
import { Wallet, type JsonRpcApiProvider } from 'ethers';
import { CollateralError, equalBytes, fromHex, keccak, Rejection, to0x } from '#attestation/base';
import { decodeTerms, parseJobSpec, type JobSpec, type Terms } from '#attestation/records';
import type { ProverRelease } from '#libs/node';
import { groth16Admission } from '#libs/proof';
import {
  addressBytes,
  connect,
  finalFrom,
  hasDelivery,
  isEnded,
  isLastCall,
  latestBlock,
  registerGroth16Key,
  SettlementClient,
  type JobView,
  type TxReceipt,
} from '#libs/settlement';
import { parseManifestText } from '#libs/step';
import { groth16SchemeId } from '#libs/zk/verifier';
import { openKeyFolder } from '../proving/key-folder.js';
import { drawInstead, drawSeed, isSampled } from './draw.js';
import type { KeptJob, KeptJobs } from './kept-jobs.js';
import { sealOf } from './seal.js';
import type { ProverSettings } from './settings.js';

export interface Transaction {
  readonly call: string;
  readonly hash: string;
}

interface OrderedJob {
  readonly spec: JobSpec;
  readonly terms: Terms;
}

/** 'wait': the chain is not ready for another; 'end': nothing is left to do. */
type Step = 'commit' | 'discharge' | 'draw' | 'finalize' | 'wait' | 'end';

export interface Escrow {
  /** 20 bytes. */
  readonly account: Uint8Array;
  /** Locks the stake and starts the job; before that the contract knows the key that its proofs need. Idempotent. */
  engage(job: OrderedJob, release: ProverRelease): Promise<readonly Transaction[]>;
  /** Takes the next step of a kept job. @returns which it was */
  collect(job: KeptJob): Promise<Step>;
  close(): void;
}

const none = new Uint8Array(32);
/** Nobody's key stands behind a run without a TEE. */
const unsealed = { delivery: none, keys: [], seal: new Uint8Array() };

export function openEscrow({ chain, accountSecret, groth16Keys }: ProverSettings, kept: KeptJobs): Escrow {
  const { rpcUrl, deployment, pollingMs, confirmations } = chain;
  const rpc = connect(rpcUrl, deployment.chainId, pollingMs);
  const wallet = new Wallet(to0x(accountSecret), rpc);
  const client = new SettlementClient(deployment, wallet, { confirmations });
  const account = addressBytes(wallet.address);

  /** Only of the run that the chain knows: a proof of another would be refused there. @returns whether there was one */
  async function discharge(
    { jobId, spec }: KeptJob,
    proofs: readonly number[],
    terms: Terms,
    borders: readonly Uint8Array[],
  ): Promise<boolean> {
    let isAny = false;
    for (const index of proofs) {
      const proof = kept.proof(jobId, index);
      if (proof === null || (await client.duties.isProved(terms, index))) continue;
      const seal = sealOf(client.domain, terms, parseJobSpec(spec), index, proof);
      await client.duties.discharge(terms, index, borders, seal);
      isAny = true;
    }
    return isAny;
  }

  /**
   * The job is over once the chain has all proofs, and its bundle lacks what the control plane was not told until then: proofs
   * that it has not taken wait for half of the window.
   */
  async function afterCommit(job: KeptJob, terms: Terms, view: JobView): Promise<Step> {
    const isUrgent = (await chainTime(rpc)) > clockOf(terms, view) + terms.windows.prove / 2;
    const proofs = isUrgent ? job.proofs : job.told;
    const isAny = proofs.length > 0 && (await discharge(job, proofs, terms, await client.duties.bordersOf(terms)));
    const step = isAny ? 'discharge' : 'wait';
    if (job.borders === null || hasDelivery(view)) return step;
    if (view.sampleDue && !view.drawn) return (await drawInstead(client, rpc, terms, view)) ? 'draw' : step;
    if (!(await isProved(terms, view))) return step;
    const from = finalFrom(terms, await client.job(terms));
    if ((await chainTime(rpc)) <= from) return step;
    await client.finalize(terms);
    return 'finalize';
  }

  async function isProved(terms: Terms, { allDue, sampleDue }: JobView): Promise<boolean> {
    if (sampleDue) return (await client.duties.undischarged(terms))?.length === 0;
    const { proved, upTo } = await client.job(terms);
    return allDue && proved === upTo;
  }

  return {
    account,
    async engage({ spec, terms }, { release, releaseSignature: signature }) {
      const { state } = await client.job(terms);
      if (state === 'None') throw noEscrow();
      if (isEnded(state)) throw ended(state);
      const entered = await enterKey(spec, { wallet, deployment, groth16Keys });
      const accepted = await client.accept(terms, isSampled(terms) ? keccak(drawSeed(accountSecret, terms)) : none);
      const started = await client.start(terms, { release, signature });
      return [...entered, named('accept', accepted), named('start', started)];
    },
    async collect(job) {
      const terms = decodeTerms(job.terms);
      const view = await client.job(terms);
      if (isEnded(view.state)) {
        if (equalBytes(terms.provider, account)) await client.withdraw(terms.token);
        return 'end';
      }
      if (view.state === 'Committed') return afterCommit(job, terms, view);
      const borders = view.state === 'Started' ? await bordersToCommit(rpc, job, terms, view) : null;
      if (borders === null) return 'wait';
      const seedProvider = isSampled(terms) ? drawSeed(accountSecret, terms) : none;
      await client.commit(terms, { outcome: job.outcome, borders, seedProvider, ...unsealed });
      return 'commit';
    },
    close: () => rpc.destroy(),
  };
}

interface KeyRegistry {
  readonly wallet: Wallet;
  readonly deployment: ProverSettings['chain']['deployment'];
  readonly groth16Keys: ProverSettings['groth16Keys'];
}

/** Proofs under a key that the contract does not know, or does not take, earn nothing. */
async function enterKey(
  { scheme, proving, manifest }: JobSpec,
  { wallet, deployment, groth16Keys }: KeyRegistry,
): Promise<readonly Transaction[]> {
  if (scheme !== groth16SchemeId) return [];
  const { shape } = groth16Admission(parseManifestText(manifest));
  const { ceremony, bytes } = openKeyFolder(groth16Keys, proving!.planDigest, shape);
  const { txHash } = await registerGroth16Key(wallet, deployment, shape, ceremony, bytes);
  return txHash === null ? [] : [{ call: 'register', hash: txHash }];
}

const named = (call: string, { txHash }: TxReceipt): Transaction => ({ call, hash: txHash });

/** Behind a seal the clock of proofs starts when the seal can no longer be taken away. */
function clockOf({ windows }: Terms, { since, sealed }: JobView): number {
  return since + (sealed ? windows.challenge : 0);
}

async function chainTime(rpc: JsonRpcApiProvider): Promise<number> {
  return (await latestBlock(rpc)).timestamp;
}

/** Of a run that the control plane has taken; in the last quarter of the time of any, for then the stake counts. */
async function bordersToCommit(
  rpc: JsonRpcApiProvider,
  { borders, delivery }: KeptJob,
  terms: Terms,
  view: JobView,
): Promise<readonly Uint8Array[] | null> {
  if (borders !== null || delivery === null) return borders;
  return isLastCall(terms, view, await chainTime(rpc)) ? delivery.borders.map(fromHex) : null;
}

function noEscrow(): CollateralError {
  return new CollateralError('PROVER_ESCROW_MISSING', {
    expected: 'an escrow under the terms of the job',
    got: 'none on the chain of this node',
    rule: 'contracts/SPEC.md §6',
    action: 'wait until the chain of this node has the block in which it was opened',
  });
}

function ended(state: string): Rejection {
  return new Rejection('PROVER_ESCROW_ENDED', {
    expected: 'an escrow that may still pay',
    got: `one that is ${state}`,
    rule: 'contracts/SPEC.md §6',
  });
}
