/** The escrow as a relying party reads it, which sends nothing and trusts the endpoint that it was given. */
import { jobDigest, type Terms } from '#attestation';
import { checksummed, connect } from './chain.js';
import { jobStates, type JobState } from './job-view.js';
import { errorAbi, settlementAt } from './contracts.js';
import { chainFailure } from './failure.js';

export interface EscrowReaderOptions {
  readonly rpcUrl: string;
  readonly chainId: number;
  /** 20 bytes. */
  readonly contract: Uint8Array;
  /** Blocks on top of the one whose state is called confirmed; 0: the latest. */
  readonly confirmations: number;
}

export interface EscrowReader {
  /** @throws CollateralError CHAIN_UNREACHABLE */
  stateOf(terms: Terms): Promise<{ readonly latest: JobState; readonly confirmed: JobState }>;
  close(): void;
}

const pollingMs = 4000;
/** A host waits 15 seconds for a key broker's answer. */
const answerWithinMs = 3000;

export function openEscrowReader({ rpcUrl, chainId, contract, confirmations }: EscrowReaderOptions): EscrowReader {
  const rpc = connect(rpcUrl, chainId, pollingMs, answerWithinMs);
  const escrow = settlementAt(checksummed(contract), rpc);
  const stateAt = async (terms: Terms, blockTag: number | 'latest'): Promise<JobState> => {
    const { state } = await escrow.jobOf(jobDigest(terms), { blockTag });
    return jobStates[Number(state)] ?? 'None';
  };
  return {
    async stateOf(terms) {
      try {
        const latest = await stateAt(terms, 'latest');
        if (confirmations === 0) return { latest, confirmed: latest };
        const block = Math.max(0, (await rpc.getBlockNumber()) - confirmations);
        return { latest, confirmed: await stateAt(terms, block) };
      } catch (error) {
        throw chainFailure(error, 'jobOf', errorAbi);
      }
    },
    close: () => rpc.destroy(),
  };
}
