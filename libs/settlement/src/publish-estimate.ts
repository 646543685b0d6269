/** What publishing an encrypted result on the chain costs at present: contracts/SPEC.md §12. */
import type { Provider } from 'ethers';
import { chunkBytes } from '#attestation/records';
import { errorAbi } from './contracts.js';
import { chainFailure } from './failure.js';

/** A byte that is not zero, EIP-7623; and what a call costs beside its bytes. */
const gasPerByte = 40n;
const gasPerChunk = 150_000n;

/** @returns wei, at the gas price of now @throws CollateralError CHAIN_UNREACHABLE */
export async function publishEstimate(bytes: number, provider: Pick<Provider, 'getFeeData'>): Promise<bigint> {
  const { gasPrice, maxFeePerGas } = await provider.getFeeData().catch((error: unknown) => {
    throw chainFailure(error, 'eth_gasPrice', errorAbi);
  });
  const chunks = BigInt(Math.ceil(bytes / chunkBytes));
  return (BigInt(bytes) * gasPerByte + chunks * gasPerChunk) * (gasPrice ?? maxFeePerGas ?? 0n);
}
