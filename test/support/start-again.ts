/** The host's own `start` of a job, asked again of the chain as it was just before, with less than the host brought. */
import type { JsonRpcProvider } from 'ethers';
import { CodedError, to0x } from '#attestation/base';
import { escrowIdOf, type Terms } from '#attestation/records';
import { chainFailure, errorAbi, settlementAbi } from '#libs/settlement';

export interface Change {
  /** Of the appraisals: the place of one that is left out. */
  readonly without?: number;
  /** Seconds by which the block is later. */
  readonly later?: number;
}

/**
 * @param settlement address of the escrow contract
 * @returns the contract's error, or `accepted`
 */
export async function startAgain(
  rpc: JsonRpcProvider,
  settlement: string,
  terms: Terms,
  { without, later = 0 }: Change = {},
): Promise<string> {
  const topics = [settlementAbi.getEvent('JobStarted')!.topicHash, to0x(escrowIdOf(terms))];
  const [log] = await rpc.getLogs({ address: settlement, topics, fromBlock: 0 });
  const { data, from, to } = (await rpc.getTransaction(log!.transactionHash))!;
  const given = settlementAbi.decodeFunctionData('start', data).toArray(true) as [unknown, unknown, unknown[]];
  const left = given[2].filter((_, at) => at !== without);
  const call = { from, to, data: settlementAbi.encodeFunctionData('start', [given[0], given[1], left]) };
  const time = (await log!.getBlock()).timestamp + later;
  const before = `0x${(log!.blockNumber - 1).toString(16)}`;
  return rpc.send('eth_call', [call, before, {}, { time: `0x${time.toString(16)}` }]).then(
    () => 'accepted',
    (error: unknown) => {
      const failure = chainFailure(error, 'start', errorAbi);
      return failure instanceof CodedError ? failure.code : String(failure);
    },
  );
}
