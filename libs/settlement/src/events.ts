/** The escrow's events as plain records: what a data base keeps and a projection reads. contracts/SPEC.md §16. */
import type { Log } from 'ethers';
import { settlementAbi } from './contracts.js';

type EventValue = string | boolean | readonly string[];

export interface EscrowEvent {
  readonly name: string;
  /** Job the event is about; null for credits, stakes and switches. */
  readonly job: string | null;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly logIndex: number;
  readonly txHash: string;
  /** Parameters by name; integers as decimal strings. */
  readonly args: Readonly<Record<string, EventValue>>;
}

/** @returns undefined for a log of another kind of contract */
export function readEvent(log: Log): EscrowEvent | undefined {
  const parsed = settlementAbi.parseLog(log);
  if (parsed === null) return undefined;
  const args: Record<string, EventValue> = {};
  parsed.fragment.inputs.forEach((input, index) => {
    const value: unknown = parsed.args[index];
    args[input.name] = valueOf(value);
  });
  return {
    name: parsed.name,
    job: typeof args['job'] === 'string' ? args['job'] : null,
    blockNumber: log.blockNumber,
    blockHash: log.blockHash,
    logIndex: log.index,
    txHash: log.transactionHash,
    args,
  };
}

function valueOf(value: unknown): EventValue {
  if (typeof value === 'boolean') return value;
  return Array.isArray(value) ? value.map(String) : String(value);
}
