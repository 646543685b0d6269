/** The prover's side of the escrow: stake and start before the work; the run, its proofs and the money after it. */
import { Wallet, type JsonRpcApiProvider } from 'ethers';
import { CollateralError, equalBytes, fromHex, keccak, Rejection, to0x } from '#attestation/base';
import { decodeTerms, JobMode, parseJobSpec, type JobSpec, type Terms } from '#attestation/records';
import { bringProofs, type ProverRelease } from '#libs/node';
import { groth16Admission } from '#libs/proof';
import {
  addressBytes,
  ChainClock,
  connect,
  exitOf,
  finalFrom,
  hasDelivery,
  inTurn,
  isEnded,
  isLastCall,
  isLastMoment,
  latestBlock,
  proofsFrom,
  registerGroth16Key,
  SettlementClient,
  type JobView,
  type TxReceipt,
} from '#libs/settlement';
import { parseManifestText } from '#libs/step';
import { groth16SchemeId } from '#libs/zk/verifier';
import { openKeyFolder } from '../proving/key-folder.js';
import { drawInstead, drawSeed, dueOf, isSampled, type Due } from './draw.js';
import { hasRun, type KeptJob, type KeptJobs } from './kept-jobs.js';
import type { ProverSettings } from './settings.js';

export interface Transaction {
  readonly call: string;
  readonly hash: string;
}

interface OrderedJob {
  readonly spec: JobSpec;
  readonly terms: Terms;
}

/** 'wait': the chain is not ready for another; 'end': nothing is left to do, and nothing of it can come back. */
type Step = 'abort' | 'resign' | 'commit' | 'discharge' | 'draw' | 'finalize' | 'wait' | 'end';

export interface Escrow {
  /** 20 bytes. */
  readonly account: Uint8Array;
  /** Locks the stake and starts the job; before that the contract knows the key that its proofs need. Idempotent. */
  engage(job: OrderedJob, release: ProverRelease): Promise<readonly Transaction[]>;
  /** Takes the next step of a kept job. @param letGo ends the lease that works on it; absent: none @returns which it was */
  collect(job: KeptJob, letGo?: () => void): Promise<Step>;
  /** Of this account in the token of these terms: what stays in the contract for its next job. */
  freeStake(terms: Terms): Promise<bigint>;
  /** What a run with these terms owes. */
  due(terms: Terms, patienceSeconds: number): Promise<Due>;
  close(): void;
}

const none = new Uint8Array(32);
/** Nobody's key stands behind a run without a TEE. */
const unsealed = { delivery: none, keys: [], seal: new Uint8Array() };

export function openEscrow(settings: ProverSettings, kept: KeptJobs): Escrow {
  const { chain, accountSecret, groth16Keys } = settings;
  const { rpcUrl, deployment, pollingMs, confirmations, feePerGasMaxWei } = chain;
  const rpc = connect(rpcUrl, deployment.chainId, pollingMs);
  const wallet = new Wallet(to0x(accountSecret), rpc);
  const client = new SettlementClient(deployment, wallet, { confirmations, feePerGasMaxWei });
  const account = addressBytes(wallet.address);
  // Where no block comes, the next one may be past the time that counts.
  const clock = new ChainClock();
  /** What is deposited for one job must not be taken out before it is locked. */
  const withStake = <T>(work: () => Promise<T>): Promise<T> => inTurn(`stake of ${wallet.address}`, work);

  /** Earnings, and the free stake that no other job may need: of a job that ended, or of an acceptance that came too late. */
  async function takeOut({ provider, token }: Terms): Promise<void> {
    if (!equalBytes(provider, account)) return;
    await withStake(() => client.stakeDownTo(token, settings.escrow.stakeMaxWei));
    await client.withdraw(token);
  }

  /**
   * The job is over once the chain has all proofs, and its bundle lacks what the control plane was not told until then: proofs
   * that it has not taken wait for half of the window.
   */
  async function afterCommit(job: KeptJob, terms: Terms, view: JobView): Promise<Step> {
    const isUrgent = clock.at(await latestBlock(rpc)).least > proofsFrom(terms, view) + terms.windows.prove / 2;
    const proofs = await owed(client, terms, view, isUrgent ? job.proofs : job.told);
    const find = (index: number) => kept.proof(job.jobId, index);
    const isAny = await bringProofs(proofs, { client, spec: parseJobSpec(job.spec), terms, find });
    const step = isAny ? 'discharge' : 'wait';
    if (!hasRun(job) || hasDelivery(view)) return step;
    if (view.sampleDue && !view.drawn) return (await drawInstead(client, rpc, terms, view)) ? 'draw' : step;
    if (job.borders === null || !(await isProved(client, terms, view))) return step;
    const from = finalFrom(terms, await client.job(terms));
    if ((await chainTime(rpc)) <= from) return step;
    await client.finalize(terms);
    return 'finalize';
  }

  return {
    account,
    async engage({ spec, terms }, { release, releaseSignature: signature }) {
      const { state } = await client.job(terms);
      if (state === 'None') throw noEscrow();
      if (isEnded(state)) throw ended(state);
      const entered = await enterKey(spec, { wallet, chain, groth16Keys });
      const seedCommit = isSampled(terms) ? keccak(drawSeed(accountSecret, terms)) : none;
      const accepted = await withStake(() => client.accept(terms, seedCommit));
      const started = await client.start(terms, { release, signature });
      return [...entered, named('accept', accepted), named('start', started)];
    },
    async collect(job, letGo) {
      const terms = decodeTerms(job.terms);
      const view = await client.job(terms);
      if (isEnded(view.state)) {
        await takeOut(terms);
        return (await isOver(client, terms)) ? 'end' : 'wait';
      }
      if (isUnaccepted(view)) {
        if (letGo !== undefined || hasRun(job) || !(await isOver(client, terms))) return 'wait';
        await takeOut(terms);
        return 'end';
      }
      if (view.state === 'Committed') return afterCommit(job, terms, view);
      const head = await latestBlock(rpc);
      const { least } = clock.at(head);
      const borders = view.state === 'Started' ? bordersToCommit(job, terms, view, least) : null;
      if (borders === null) {
        const way = job.isStaked ? wayOut(terms, view, [head.timestamp, least], letGo !== undefined) : 'wait';
        return way === 'wait' ? way : giveBack(client, kept, { jobId: job.jobId, terms, way }, letGo);
      }
      const seedProvider = isSampled(terms) ? drawSeed(accountSecret, terms) : none;
      await client.commit(terms, { outcome: job.outcome, borders, seedProvider, ...unsealed });
      return 'commit';
    },
    freeStake: async ({ token }) => (await client.stakeOf(wallet.address, token)).free,
    due: (terms, patienceSeconds) => dueOf(client, rpc, terms, patienceSeconds),
    close: () => rpc.destroy(),
  };
}

interface KeyRegistry {
  readonly wallet: Wallet;
  readonly chain: Pick<ProverSettings['chain'], 'deployment' | 'feePerGasMaxWei'>;
  readonly groth16Keys: ProverSettings['groth16Keys'];
}

/** Proofs under a key that the contract does not know, or does not take, earn nothing. */
async function enterKey(
  { scheme, proving, manifest }: JobSpec,
  { wallet, chain: { deployment, feePerGasMaxWei }, groth16Keys }: KeyRegistry,
): Promise<readonly Transaction[]> {
  if (scheme !== groth16SchemeId) return [];
  const { shape } = groth16Admission(parseManifestText(manifest));
  const { ceremony, bytes: key } = openKeyFolder(groth16Keys, proving!.planDigest, shape);
  const { txHash } = await registerGroth16Key(wallet, deployment, { shape, ceremony, key }, { feePerGasMaxWei });
  return txHash === null ? [] : [{ call: 'register', hash: txHash }];
}

const named = (call: string, { txHash }: TxReceipt): Transaction => ({ call, hash: txHash });

/** By a block that stays: what is on disk is all that could answer for a job that a reorganisation brought back. */
async function isOver(client: SettlementClient, terms: Terms): Promise<boolean> {
  const { block, job } = await client.settled(terms);
  return isEnded(job.state) || (isUnaccepted(job) && block.timestamp > terms.acceptBy);
}

function isUnaccepted({ state }: JobView): boolean {
  return state === 'None' || state === 'Open';
}

async function chainTime(rpc: JsonRpcApiProvider): Promise<number> {
  return (await latestBlock(rpc)).timestamp;
}

/** Of a job that nobody can challenge, what was not drawn of it is paid for by nobody, and costs gas. */
async function owed(
  client: SettlementClient,
  terms: Terms,
  view: JobView,
  proofs: readonly number[],
): Promise<readonly number[]> {
  if (terms.mode !== JobMode.sample || view.allDue) return proofs;
  const drawn = (await client.duties.sampleOf(terms)) ?? [];
  return proofs.filter((index) => drawn.includes(index));
}

async function isProved(client: SettlementClient, terms: Terms, { allDue, sampleDue }: JobView): Promise<boolean> {
  if (sampleDue) return (await client.duties.undischarged(terms))?.length === 0;
  const { proved, upTo } = await client.job(terms);
  return upTo === 0 || (allDue && proved === upTo);
}

/**
 * Of a job without a run: silence would cost what giving it back does not, even where a lease still works on it.
 *
 * @param times of the newest block, and the least that it is now
 */
function wayOut(
  terms: Terms,
  view: JobView,
  [head, least]: readonly [number, number],
  isInHand: boolean,
): 'abort' | 'resign' | 'wait' {
  if (view.state === 'Accepted') {
    return !isInHand && head > (exitOf(terms, view)?.after ?? Infinity) ? 'abort' : 'wait';
  }
  return view.state === 'Started' && isLastMoment(terms, view, least) ? 'resign' : 'wait';
}

interface GivenBack {
  readonly jobId: string;
  readonly terms: Terms;
  readonly way: 'abort' | 'resign';
}

async function giveBack(
  client: SettlementClient,
  kept: KeptJobs,
  { jobId, terms, way }: GivenBack,
  letGo: (() => void) | undefined,
): Promise<Step> {
  letGo?.();
  // The lease may have come to a run while the chain was asked. One that it comes to from here on it does not tell.
  const job = kept.find(jobId);
  if (job === null || hasRun(job)) return 'wait';
  kept.markGivenBack(jobId);
  await client[way](terms);
  return way;
}

/** Of a run that the control plane has taken; in the last quarter of the time of any, for then the stake counts. */
function bordersToCommit(
  { borders, delivery, refused }: KeptJob,
  terms: Terms,
  view: JobView,
  time: number,
): readonly Uint8Array[] | null {
  const run = delivery ?? refused;
  if (borders !== null || run === null) return borders;
  return isLastCall(terms, view, time) ? run.borders.map(fromHex) : null;
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
