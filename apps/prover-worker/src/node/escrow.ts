/** The prover's side of the escrow: stake and start before the work; the run, its proofs and the money after it. */
import { Wallet, type JsonRpcApiProvider } from 'ethers';
import {
  CollateralError,
  decodeTerms,
  equalBytes,
  keccak,
  parseJobSpec,
  Rejection,
  stepSpecOf,
  toHex,
  type Terms,
} from '#attestation';
import type { ProverRelease } from '#libs/dispatch-client';
import { parseProofBundle, planOf, readProofDocument } from '#libs/proof';
import {
  addressBytes,
  connect,
  hasDelivery,
  jobStates,
  SettlementClient,
  zkSealOf,
  type JobView,
  type TxReceipt,
} from '#libs/settlement';
import { drawInstead, drawSeed, isSampled } from './draw.js';
import type { KeptJob, KeptJobs } from './kept-jobs.js';
import type { ProverSettings } from './settings.js';

export interface Transaction {
  readonly call: string;
  readonly hash: string;
}

export interface Escrow {
  /** 20 bytes. */
  readonly account: Uint8Array;
  /** Locks the stake and starts the job. Idempotent. */
  engage(terms: Terms, release: ProverRelease): Promise<readonly Transaction[]>;
  /** Takes the next step of a kept job. @returns false when nothing is left to do for it */
  collect(job: KeptJob): Promise<boolean>;
  close(): void;
}

const none = new Uint8Array(32);

export function openEscrow({ chain, accountSecret }: ProverSettings, kept: KeptJobs): Escrow {
  const { rpcUrl, deployment, pollingMs, confirmations } = chain;
  const rpc = connect(rpcUrl, deployment.chainId, pollingMs);
  const wallet = new Wallet(`0x${toHex(accountSecret)}`, rpc);
  const client = new SettlementClient(deployment, wallet, { confirmations });
  const account = addressBytes(wallet.address);
  const named = (call: string, { txHash }: TxReceipt): Transaction => ({ call, hash: txHash });

  /** Only of the run that the chain knows: a proof of another would be refused there. */
  async function discharge(
    { jobId, spec }: KeptJob,
    proofs: readonly number[],
    terms: Terms,
    borders: readonly Uint8Array[],
  ): Promise<void> {
    for (const index of proofs) {
      if (await client.duties.isProved(terms, index)) continue;
      const { bundle, document } = kept.proof(jobId, index)!;
      const statement = readProofDocument(document);
      const proved = {
        statement: {
          ...{ manifest: statement.manifest, index, before: statement.borders[0]!, after: statement.borders[1]! },
          ...{ data: statement.segments[0]!.data, dataPath: statement.segments[0]!.path },
        },
        plan: planOf(statement),
        proof: parseProofBundle(bundle)[0]!,
      };
      const seal = zkSealOf(client.domain, terms, stepSpecOf(parseJobSpec(spec)), proved);
      await client.duties.discharge(terms, index, borders, seal);
    }
  }

  async function afterCommit(job: KeptJob, terms: Terms, view: JobView): Promise<void> {
    const proofs = (await isUrgent(rpc, terms, view)) ? job.proofs : job.told;
    if (proofs.length > 0) await discharge(job, proofs, terms, await client.duties.bordersOf(terms));
    if (job.borders === null || hasDelivery(view)) return;
    if (view.sampleDue && !view.drawn) return drawInstead(client, rpc, terms, view);
    if (await isProved(terms, view)) await client.finalize(terms);
  }

  async function isProved(terms: Terms, { allDue, sampleDue }: JobView): Promise<boolean> {
    if (sampleDue) return (await client.duties.undischarged(terms))?.length === 0;
    const { proved, upTo } = await client.job(terms);
    return allDue && proved === upTo;
  }

  return {
    account,
    async engage(terms, { release, releaseSignature, account: signer }) {
      const { state } = await client.job(terms);
      if (state === 'None') throw noEscrow();
      if (isEnded(state)) throw ended(state);
      const accepted = await client.accept(terms, isSampled(terms) ? keccak(drawSeed(accountSecret, terms)) : none);
      const { enclaveKey, shardsDigest } = release;
      const started = await client.start(terms, { enclaveKey, shardsDigest, signer, signature: releaseSignature });
      return [named('accept', accepted), named('start', started)];
    },
    async collect(job) {
      const terms = decodeTerms(job.terms);
      const view = await client.job(terms);
      if (isEnded(view.state)) {
        if (equalBytes(terms.provider, account)) await client.withdraw(terms.token);
        return false;
      }
      if (view.state === 'Committed') await afterCommit(job, terms, view);
      if (view.state === 'Started' && job.borders !== null) {
        const { borders } = job;
        const seedProvider = isSampled(terms) ? drawSeed(accountSecret, terms) : none;
        await client.commit(terms, { outcome: 0, borders, seedProvider, delivery: none, seal: new Uint8Array() });
      }
      return true;
    },
    close: () => rpc.destroy(),
  };
}

/**
 * The job is over once the chain has all proofs, and its bundle lacks what the control plane was not told until then. But a
 * stake is not lost for a control plane that is away.
 */
async function isUrgent(rpc: JsonRpcApiProvider, { windows }: Terms, { since }: JobView): Promise<boolean> {
  const { timestamp } = (await rpc.getBlock('latest'))!;
  return timestamp > since + windows.prove / 2;
}

function isEnded(state: JobView['state']): boolean {
  return jobStates.indexOf(state) > jobStates.indexOf('Committed');
}

function noEscrow(): CollateralError {
  return new CollateralError('PROVER_ESCROW_MISSING', {
    expected: 'an escrow under the terms of the job',
    got: 'none on the chain of this node',
    rule: 'settlement §6',
    action: 'wait until the chain of this node has the block in which it was opened',
  });
}

function ended(state: string): Rejection {
  return new Rejection('PROVER_ESCROW_ENDED', {
    expected: 'an escrow that may still pay',
    got: `one that is ${state}`,
    rule: 'settlement §6',
  });
}
