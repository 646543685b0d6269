/** Whether a chain's headers carry randomness, which decides a sample where the client stays silent. contracts/SPEC.md §8. */
import { decodeRlp, type JsonRpcApiProvider, type Signer } from 'ethers';
import { ConfigurationError } from '#attestation/base';
import { errorAbi, randaoAt } from './contracts.js';
import type { Deployment } from './deployment.js';
import { chainFailure } from './failure.js';
import { headerOf } from './header.js';
import { submit, type SubmitOptions } from './transaction.js';

/** Place of the mix in a header, as BlockRandao reads it. */
const mixPlace = 13;
const zeroMix = /^0x0*$/;
/** Blocks back from the newest. Chains of the OP stack repeat the mix of the main chain for several blocks. */
const distances = [0, ...Array.from({ length: 11 }, (_, i) => 2 ** i)];

/**
 * Requires two headers with different mixes, neither zero: `BlockRandao.test` takes a header whose mix is a constant, under
 * which a provider could choose a run to fit the sample. The genesis block, which nobody drew for, does not count.
 *
 * @throws ConfigurationError CHAIN_RANDAO; CollateralError CHAIN_HEADER, CHAIN_UNREACHABLE
 */
export async function checkRandao(provider: JsonRpcApiProvider): Promise<void> {
  try {
    await compareMixes(provider);
  } catch (error) {
    throw chainFailure(error, 'eth_getBlockByNumber', errorAbi);
  }
}

async function compareMixes(provider: JsonRpcApiProvider): Promise<void> {
  const newest = await provider.getBlockNumber();
  let first: string | undefined;
  for (const number of distances.map((distance) => newest - distance).filter((one) => one > 0)) {
    const mix = mixOf(await headerOf(provider, number));
    if (zeroMix.test(mix)) throw noRandomness(`a mix of zero in block ${number}`);
    first ??= mix;
    if (mix !== first) return;
  }
  throw noRandomness(first === undefined ? 'a chain without blocks' : `${first} in every block that was read`);
}

const mixOf = (header: Uint8Array): string => String((decodeRlp(header) as readonly unknown[])[mixPlace]);

function noRandomness(got: string): ConfigurationError {
  return new ConfigurationError('CHAIN_RANDAO', {
    expected: 'two block headers with different mixes (prevRandao), neither zero',
    got,
    rule: 'contracts/SPEC.md §8',
    action: 'use another chain, or, of a job, ask for a proof of every segment with --assurance zk',
  });
}

/** Shows once that block hashes are here the hashes of headers: no job may be sampled before. */
export async function testRandao(
  signer: Signer,
  { randao: address, chainId }: Pick<Deployment, 'randao' | 'chainId'>,
  waiting: SubmitOptions,
): Promise<void> {
  const provider = signer.provider as JsonRpcApiProvider;
  await checkRandao(provider);
  const randao = randaoAt(address, signer);
  if ((await randao.getFunction('isTested')()) === true) return;
  const number = await provider.getBlockNumber();
  const header = await headerOf(provider, number);
  await submit(signer, chainId, await randao.getFunction('test').populateTransaction(number, header), waiting);
}
