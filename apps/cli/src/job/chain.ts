/** What a client reads from and says to the chain about its own job. */
import { Contract, Wallet, type EventLog } from 'ethers';
import { fromHex, jobDigest, Rejection, toHex, type Terms } from '#attestation';
import { connect, SettlementClient, settlementAbi, type JobState } from '#libs/settlement';
import type { Profile } from '../profile.js';
import { readSecret } from '../secrets.js';

export interface ClientChain {
  readonly escrow: SettlementClient;
  /** The committed result's weightsDigest and the transaction that committed it. */
  committed(terms: Terms): Promise<{ last: Uint8Array; transaction: string } | null>;
  /** The key revealed by the transaction that settled the job. */
  revealed(terms: Terms): Promise<{ key: Uint8Array; transaction: string } | null>;
  /** Polls until the escrow has left the states before its end. @throws Rejection ESCROW_ENDED on any end but Settled */
  untilSettled(terms: Terms): Promise<void>;
  close(): void;
}

const live: readonly JobState[] = ['Open', 'Accepted', 'Started', 'Committed'];

export function openChain({ chain }: Profile): ClientChain {
  const { deployment, rpcUrl, pollingMs } = chain;
  const rpc = connect(rpcUrl, deployment.chainId, pollingMs);
  const wallet = new Wallet(`0x${toHex(readSecret(chain.accountKey))}`, rpc);
  const escrow = new SettlementClient(deployment, wallet);
  const contract = new Contract(deployment.settlement, settlementAbi, rpc);

  async function latest(event: 'JobCommitted' | 'KeyRevealed', terms: Terms): Promise<EventLog | undefined> {
    const logs = await contract.queryFilter(contract.getEvent(event)(jobDigest(terms)), deployment.fromBlock);
    return logs.at(-1) as EventLog | undefined;
  }

  return {
    escrow,
    async committed(terms) {
      const log = await latest('JobCommitted', terms);
      return log === undefined ? null : { last: fromHex(String(log.args.last)), transaction: log.transactionHash };
    },
    async revealed(terms) {
      const log = await latest('KeyRevealed', terms);
      return log === undefined ? null : { key: fromHex(String(log.args.key)), transaction: log.transactionHash };
    },
    async untilSettled(terms) {
      for (;;) {
        const { state } = await escrow.job(terms);
        if (state === 'Settled') return;
        if (!live.includes(state)) {
          throw new Rejection('ESCROW_ENDED', {
            expected: 'an escrow that settles',
            got: state,
            rule: 'settlement §6',
            action: 'the reward is yours to withdraw: `veritrain job withdraw`',
          });
        }
        await new Promise((resolve) => setTimeout(resolve, pollingMs));
      }
    },
    close: () => rpc.destroy(),
  };
}
