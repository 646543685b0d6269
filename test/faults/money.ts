/** Where the money is after a seed: the escrow holds what it owes, and who earned a price has it. */
import { JsonRpcProvider } from 'ethers';
import { to0x } from '#attestation/base';
import { escrowIdOf, type Terms } from '#attestation/records';
import type { Profile } from '#libs/client';
import { Projection, readEvent, type EscrowEvent } from '#libs/settlement';

const receivers = ['toProvider', 'toClient', 'toChallenger', 'burnt'] as const;
const coin = '0x0000000000000000000000000000000000000000';

/** @returns the violations; the contract's own words are all that is believed */
export async function checkMoney(terms: Terms, isSettled: boolean, { chain }: Profile): Promise<string[]> {
  const rpc = new JsonRpcProvider(chain.rpcUrl, undefined, { cacheTimeout: -1 });
  try {
    const { settlement, fromBlock } = chain.deployment;
    const blockTag = await rpc.getBlockNumber();
    const logs = await rpc.getLogs({ address: settlement, fromBlock, toBlock: blockTag });
    const events = logs.map(readEvent).filter((event) => event !== undefined);
    return moneyOf(events, await rpc.getBalance(settlement, blockTag), to0x(escrowIdOf(terms)), isSettled);
  } finally {
    rpc.destroy();
  }
}

/** @param balance  of the contract @param job  escrow id, 0x-hexadecimal */
export function moneyOf(events: readonly EscrowEvent[], balance: bigint, job: string, isSettled: boolean): string[] {
  const projection = new Projection();
  for (const event of events) projection.apply(event);
  const violations: string[] = [];
  const owed = projection.owed(coin);
  if (owed !== balance) violations.push(`the escrow holds ${balance} wei and owes ${owed}`);
  const price = projection.jobs.get(job)?.price;
  if (price === undefined) return isSettled ? [...violations, 'a settled job that was never funded'] : violations;
  const ended = events.find((event) => event.name === 'JobEnded' && event.job === job);
  if (ended === undefined) return isSettled ? [...violations, 'a settled job whose escrow has not ended'] : violations;
  const [provider, ...others] = receivers.map((name) => BigInt(String(ended.args[name])));
  const sum = others.reduce((total, part) => total + part, provider!);
  // Everybody here is honest: no stake is lost, so the price alone is divided.
  if (sum !== price) violations.push(`${price} wei went in and ${sum} came out`);
  if (isSettled && provider !== price) violations.push(`settled, and the provider earned ${provider} of ${price} wei`);
  return violations;
}
