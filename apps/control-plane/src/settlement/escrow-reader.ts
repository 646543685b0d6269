/** What the control plane reads from the chain; it never signs and never sends. */

export interface EscrowEvent {
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly logIndex: number;
  readonly transaction: string;
  readonly escrowId: string;
  readonly name: string;
  /** Amounts decimal, bytes 0x-hexadecimal. */
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Block {
  readonly number: number;
  readonly hash: string;
}

export interface EscrowReader {
  /** Chain id and contract, to tell cursors apart. */
  readonly contract: string;
  /** @throws CollateralError RPC_UNAVAILABLE, as all below */
  headNumber(): Promise<number>;
  /** null when the chain has no such block. */
  block(number: number): Promise<Block | null>;
  events(fromBlock: number, toBlock: number): Promise<EscrowEvent[]>;
  close(): void;
}
