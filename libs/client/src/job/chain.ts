/** What a client reads from and says to the chain about its own job. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Wallet } from 'ethers';
import { fromHex, Rejection, to0x } from '#attestation/base';
import { type Terms } from '#attestation/records';
import { connect, isPaidFor, latestBlock, SettlementClient, type JobState } from '#libs/settlement';
import type { Profile } from '../api/profile.js';
import { readSecret } from '../files/secrets.js';

export interface CommittedResult {
  /** weightsDigest of the result. */
  readonly last: Uint8Array;
  /** Digest of the ciphertext and of the commitment to its key (contracts/SPEC.md §12). */
  readonly delivery: Uint8Array;
}

export interface ClientChain {
  readonly escrow: SettlementClient;
  /** Waits for the sealed run on chain. @throws Rejection ESCROW_ENDED when the escrow ends without one */
  untilCommitted(terms: Terms): Promise<CommittedResult>;
  /** @throws Rejection ESCROW_ENDED when the escrow has ended and nobody is paid */
  requireOpen(terms: Terms): Promise<void>;
  /** The key revealed by the transaction that settled the job. */
  revealed(terms: Terms): Promise<{ key: Uint8Array; transaction: string } | null>;
  /**
   * Polls until the escrow has left the states before its end.
   * @returns the transaction that settled it @throws Rejection ESCROW_ENDED on any end that does not pay for the run
   */
  untilSettled(terms: Terms): Promise<string>;
  /** Unix seconds of the latest block. */
  now(): Promise<number>;
  /** Until the chain is worth asking again. */
  pause(): Promise<void>;
  close(): void;
}

const waiting: readonly JobState[] = ['None', 'Open', 'Accepted', 'Started'];
const live: readonly JobState[] = ['Open', 'Accepted', 'Started', 'Committed'];

export function openChain({ chain }: Profile): ClientChain {
  const { deployment, rpcUrl, pollingMs, feePerGasMaxWei } = chain;
  const rpc = connect(rpcUrl, deployment.chainId, pollingMs);
  const wallet = new Wallet(to0x(readSecret(chain.accountKey)), rpc);
  const escrow = new SettlementClient(deployment, wallet, { feePerGasMaxWei });

  const pause = (): Promise<void> => sleep(pollingMs);

  return {
    escrow,
    async untilCommitted(terms) {
      for (;;) {
        const { state } = await escrow.job(terms);
        if (!waiting.includes(state)) return committedResult(escrow, terms, state);
        await pause();
      }
    },
    async requireOpen(terms) {
      const job = await escrow.job(terms);
      if (!isPaidFor(job) && !live.includes(job.state)) throw ended(job.state);
    },
    async revealed(terms) {
      const shown = await escrow.delivery.revealed(terms);
      return shown && { key: fromHex(shown.key), transaction: shown.txHash };
    },
    async untilSettled(terms) {
      for (;;) {
        const job = await escrow.job(terms);
        if (isPaidFor(job)) return (await escrow.ended(terms))!.txHash;
        if (!live.includes(job.state)) throw ended(job.state);
        await pause();
      }
    },
    pause,
    now: async () => (await latestBlock(rpc)).timestamp,
    close: () => rpc.destroy(),
  };
}

/** @throws Rejection ESCROW_ENDED where the escrow ended before a run was committed */
async function committedResult(escrow: SettlementClient, terms: Terms, state: JobState): Promise<CommittedResult> {
  try {
    const { borders, delivery } = await escrow.committed(terms);
    return { last: borders.at(-1)!, delivery };
  } catch (error) {
    if (error instanceof Rejection && error.code === 'CHAIN_EVENT') throw ended(state);
    throw error;
  }
}

export function ended(state: JobState): Rejection {
  return new Rejection('ESCROW_ENDED', {
    expected: 'an escrow that settles',
    got: state,
    rule: 'contracts/SPEC.md §6',
    action: 'what is yours can be taken out: `veritrain job withdraw`; why it ended: `veritrain job status`',
  });
}
