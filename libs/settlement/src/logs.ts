/** Logs of one contract by pages: public nodes refuse ranges that are longer. contracts/SPEC.md §18a. */
import type { Filter, Log, Provider } from 'ethers';

export const pageBlocks = 2_000;

export type LogFilter = Pick<Filter, 'address' | 'topics'>;

/** Page by page, in the chain's order. */
async function* logPages(
  provider: Provider,
  filter: LogFilter,
  fromBlock: number,
  toBlock: number,
): AsyncGenerator<readonly Log[]> {
  for (let from = fromBlock; from <= toBlock; from += pageBlocks) {
    yield await provider.getLogs({ ...filter, fromBlock: from, toBlock: Math.min(toBlock, from + pageBlocks - 1) });
  }
}

export async function logsOf(
  provider: Provider,
  filter: LogFilter,
  fromBlock: number,
  toBlock: number,
): Promise<Log[]> {
  const all: Log[] = [];
  for await (const page of logPages(provider, filter, fromBlock, toBlock)) all.push(...page);
  return all;
}

/** The last one at or below `toBlock`; pages are read backwards. */
export async function lastLog(
  provider: Provider,
  filter: LogFilter,
  fromBlock: number,
  toBlock: number,
  blocks = pageBlocks,
): Promise<Log | undefined> {
  for (let to = toBlock; to >= fromBlock; to -= blocks) {
    const page = { fromBlock: Math.max(fromBlock, to - blocks + 1), toBlock: to };
    const found = (await provider.getLogs({ ...filter, ...page })).at(-1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * The highest block of [fromBlock, toBlock] that is not younger than `time`; headers alone are asked for.
 * @returns fromBlock where all are younger
 */
export async function blockAtTime(
  provider: Provider,
  time: number,
  fromBlock: number,
  toBlock: number,
): Promise<number> {
  let [low, high] = [fromBlock, toBlock];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const block = await provider.getBlock(middle);
    if (block !== null && block.timestamp <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}
