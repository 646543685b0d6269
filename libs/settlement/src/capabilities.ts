/** Whether a chain runs what the contracts need, asked with calls that cost nothing. contracts/SPEC.md §17. */
import { toBeHex, type Provider } from 'ethers';
import { ConfigurationError } from '#attestation/base';

interface Capability {
  readonly name: string;
  readonly to?: string;
  readonly data: (head: { readonly number: number; readonly hash: string }) => string;
  readonly answer: (head: { readonly number: number; readonly hash: string }) => string;
}

const precompile = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;
const words = (...values: readonly (number | bigint)[]): string =>
  values.map((value) => toBeHex(value, 32).slice(2)).join('');
const historyStorage = '0x0000F90827F1C53a10cb7A02335B175320002935';

const capabilities: readonly Capability[] = [
  {
    name: 'MODEXP (EIP-198)',
    to: precompile(5),
    // 3^5 mod 7
    data: () => `0x${words(1, 1, 1)}030507`,
    answer: () => '0x05',
  },
  {
    name: 'the pairing of BN254 (EIP-197)',
    to: precompile(8),
    data: () => '0x',
    answer: () => `0x${words(1)}`,
  },
  {
    name: 'block hashes of the last 8,191 blocks (EIP-2935)',
    to: historyStorage,
    data: ({ number }) => `0x${words(number)}`,
    answer: ({ hash }) => hash,
  },
  {
    name: 'CLZ (EIP-7939)',
    // PUSH1 1, CLZ, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN
    data: () => '0x60011e5f5260205ff3',
    answer: () => `0x${words(255)}`,
  },
];

/** @throws ConfigurationError CHAIN_CAPABILITY naming the first thing that this chain lacks */
export async function checkCapabilities(provider: Provider): Promise<void> {
  const newest = await provider.getBlockNumber();
  // The newest block's hash enters the history with the block after it, in which a call may not yet run.
  const block = newest < 2 ? null : await provider.getBlock(newest - 1);
  for (const { name, to, data, answer } of capabilities) {
    if (to === historyStorage && block === null) continue;
    const head = { number: block?.number ?? 0, hash: block?.hash ?? '' };
    const got = await answerOf(provider, { ...(to !== undefined && { to }), data: data(head) });
    if (got === answer(head)) continue;
    throw new ConfigurationError('CHAIN_CAPABILITY', {
      expected: name,
      got,
      rule: 'contracts/SPEC.md §17',
      action: 'use a chain with the rules of Osaka',
    });
  }
}

async function answerOf(provider: Provider, request: { to?: string; data: string }): Promise<string> {
  try {
    return await provider.call(request);
  } catch (error) {
    if ((error as { code?: unknown }).code === 'CALL_EXCEPTION') return 'a failure';
    // Nodes report an unknown opcode as an error of their own.
    if ((error as { code?: unknown }).code === 'UNKNOWN_ERROR') return 'a failure';
    throw error;
  }
}
