/** Asks a contract on the test chain without a transaction, for the reason why it refuses. */
import type { Contract } from 'ethers';

interface CallTarget {
  /** JSON-RPC endpoint. */
  readonly url: string;
  /** Codes by the first four bytes of what a contract reverts with, 0x-hexadecimal. */
  readonly codeOf: ReadonlyMap<string, string>;
}

/** The contract's code, or 'accepted'. @param gas  0x-hexadecimal; absent: what the chain gives a call */
export function ethCall(
  target: CallTarget,
  contract: Contract,
  name: string,
  args: readonly unknown[],
  gas?: string,
): Promise<string> {
  return ethCallOf(target, contract.target, contract.interface.encodeFunctionData(name, args), gas);
}

/** The same of calldata, 0x-hexadecimal. */
export async function ethCallOf(
  { url, codeOf }: CallTarget,
  target: Contract['target'],
  data: string,
  gas?: string,
): Promise<string> {
  const params = [{ to: target, data, ...(gas !== undefined && { gas }) }, 'latest'];
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_call', params }),
  });
  const { error } = (await reply.json()) as { error?: { data?: string; message: string } };
  if (error === undefined) return 'accepted';
  return codeOf.get(error.data?.slice(0, 10) ?? '') ?? `${error.message} ${error.data}`;
}
