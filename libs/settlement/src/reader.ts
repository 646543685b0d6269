/** The escrow as a relying party reads it, which sends nothing and trusts the endpoint that it was given. */
import { fromHex, type Digest } from '#attestation/base';
import { escrowIdOf, type Terms } from '#attestation/records';
import { checksummed, connect } from './chain.js';
import { errorAbi, settlementAbi, settlementAt } from './contracts.js';
import { chainFailure } from './failure.js';
import { JobLog } from './job-log.js';
import { jobStates, type JobState } from './job-view.js';
import type { JobStructOutput } from './types/Settlement.js';

interface EscrowReaderOptions {
  readonly rpcUrl: string;
  readonly chainId: number;
  /** 20 bytes. */
  readonly contract: Uint8Array;
  /** Blocks on top of the one whose state is called confirmed; 0: the latest; finalized: the one that the chain calls so. */
  readonly confirmations: number | 'finalized';
  /** First block that can hold an event of the escrow. */
  readonly fromBlock?: number;
}

/** A run that was committed, as the newest block has it. */
interface CommittedDelivery {
  readonly state: JobState;
  /** deliveryDigest of ciphertext and key; zero: nothing is delivered through the escrow. */
  readonly delivery: Digest;
  readonly blockNumber: number;
  readonly txHash: string;
  /** Whether the confirmed block has the same run. */
  readonly isConfirmed: boolean;
}

export interface EscrowReader {
  /** @throws CollateralError CHAIN_UNREACHABLE */
  stateOf(terms: Terms): Promise<{ readonly latest: JobState; readonly confirmed: JobState }>;
  /** null before a run is committed. @throws CollateralError CHAIN_UNREACHABLE */
  deliveryOf(terms: Terms): Promise<CommittedDelivery | null>;
  close(): void;
}

const pollingMs = 4000;
/** A host waits 15 seconds for a key broker's answer. */
const answerWithinMs = 3000;

export function openEscrowReader(options: EscrowReaderOptions): EscrowReader {
  const { rpcUrl, chainId, contract, confirmations, fromBlock = 0 } = options;
  const rpc = connect(rpcUrl, chainId, pollingMs, answerWithinMs);
  const escrow = settlementAt(checksummed(contract), rpc);
  const source = { address: checksummed(contract), abi: settlementAbi, before: [] };
  const logs = new JobLog(rpc, source, fromBlock);
  const jobAt = (terms: Terms, blockTag: number | 'latest' | 'finalized'): Promise<JobStructOutput> =>
    escrow.jobOf(escrowIdOf(terms), { blockTag });
  const stateOf = ({ state }: JobStructOutput): JobState => jobStates[Number(state)] ?? 'None';
  const both = async (terms: Terms): Promise<{ latest: JobStructOutput; confirmed: JobStructOutput }> => {
    const latest = await jobAt(terms, 'latest');
    if (confirmations === 0) return { latest, confirmed: latest };
    const at =
      confirmations === 'finalized' ? confirmations : Math.max(0, (await rpc.getBlockNumber()) - confirmations);
    return { latest, confirmed: await jobAt(terms, at) };
  };
  const read = async <T>(call: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw chainFailure(error, call, errorAbi);
    }
  };
  return {
    stateOf: (terms) =>
      read('jobOf', async () => {
        const { latest, confirmed } = await both(terms);
        return { latest: stateOf(latest), confirmed: stateOf(confirmed) };
      }),
    deliveryOf: (terms) =>
      read('JobCommitted', async () => {
        const { latest, confirmed } = await both(terms);
        if (jobStates.indexOf(stateOf(latest)) < jobStates.indexOf('Committed')) return null;
        const log = await logs.last(source, 'JobCommitted', terms, Number(latest.since));
        if (log === undefined) return null;
        const isConfirmed = Number(confirmed.state) >= jobStates.indexOf('Committed');
        return {
          ...{ state: stateOf(latest), delivery: fromHex(latest.delivery) },
          ...{ blockNumber: log.blockNumber, txHash: log.txHash },
          isConfirmed: isConfirmed && confirmed.delivery === latest.delivery,
        };
      }),
    close: () => rpc.destroy(),
  };
}
