/** What a client reads from and says to the chain about its own job. */
import { Contract, Wallet, type EventLog } from 'ethers';
import { fromHex, jobDigest, Rejection, toHex, type Terms } from '#attestation';
import { connect, SettlementClient, settlementAbi, type JobState } from '#libs/settlement';
import type { Profile } from '../profile.js';
import { readSecret } from '../secrets.js';

export interface CommittedResult {
  /** weightsDigest of the result. */
  readonly last: Uint8Array;
  /** Digest of the ciphertext and of the commitment to its key (settlement §12). */
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
   * @returns the transaction that settled it @throws Rejection ESCROW_ENDED on any end but Settled
   */
  untilSettled(terms: Terms): Promise<string>;
  /** Unix seconds of the latest block. */
  now(): Promise<number>;
  /** Until the chain is worth asking again. */
  pause(): Promise<void>;
  close(): void;
}

const live: readonly JobState[] = ['Open', 'Accepted', 'Started', 'Committed'];

export function openChain({ chain }: Profile): ClientChain {
  const { deployment, rpcUrl, pollingMs } = chain;
  const rpc = connect(rpcUrl, deployment.chainId, pollingMs);
  const wallet = new Wallet(`0x${toHex(readSecret(chain.accountKey))}`, rpc);
  const escrow = new SettlementClient(deployment, wallet);
  const contract = new Contract(deployment.settlement, settlementAbi, rpc);

  async function latest(
    event: 'JobCommitted' | 'KeyRevealed' | 'JobEnded',
    terms: Terms,
  ): Promise<EventLog | undefined> {
    const logs = await contract.queryFilter(contract.getEvent(event)(jobDigest(terms)), deployment.fromBlock);
    return logs.at(-1) as EventLog | undefined;
  }

  const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, pollingMs));

  return {
    escrow,
    async untilCommitted(terms) {
      for (;;) {
        const log = await latest('JobCommitted', terms);
        if (log !== undefined)
          return { last: fromHex(String(log.args.last)), delivery: fromHex(String(log.args.delivery)) };
        const { state } = await escrow.job(terms);
        if (!live.includes(state)) throw ended(state);
        await pause();
      }
    },
    async requireOpen(terms) {
      const { state } = await escrow.job(terms);
      if (state !== 'Settled' && !live.includes(state)) throw ended(state);
    },
    async revealed(terms) {
      const log = await latest('KeyRevealed', terms);
      return log === undefined ? null : { key: fromHex(String(log.args.key)), transaction: log.transactionHash };
    },
    async untilSettled(terms) {
      for (;;) {
        const { state } = await escrow.job(terms);
        if (state === 'Settled') return (await latest('JobEnded', terms))!.transactionHash;
        if (!live.includes(state)) throw ended(state);
        await pause();
      }
    },
    pause,
    now: async () => (await rpc.getBlock('latest'))!.timestamp,
    close: () => rpc.destroy(),
  };
}

export function ended(state: JobState): Rejection {
  return new Rejection('ESCROW_ENDED', {
    expected: 'an escrow that settles',
    got: state,
    rule: 'settlement §6',
    action: 'what is yours can be taken out: `veritrain job withdraw`; why it ended: `veritrain job status`',
  });
}
