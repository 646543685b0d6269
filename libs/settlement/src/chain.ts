/** Between the repository's byte strings and ethers: addresses, digests, terms, connections. */
import {
  FetchRequest,
  getAddress,
  JsonRpcProvider,
  type Block,
  type JsonRpcApiProvider,
  type JsonRpcPayload,
  type JsonRpcResult,
  type Provider,
} from 'ethers';
import { CollateralError, fromHex, to0x } from '#attestation/base';
import { type Terms } from '#attestation/records';
import { patiently } from './patience.js';
import type { TermsStruct } from './types/Settlement.js';

export type Hex = `0x${string}`;

export const checksummed = (address: Uint8Array): string => getAddress(to0x(address));

/** An address as an indexed parameter of an event. */
export const addressWord = (address: string): Hex => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;

/** 20 bytes of a textual address. */
export const addressBytes = (address: string): Uint8Array => fromHex(getAddress(address));

/** Which chain the endpoint is really of: a provider only repeats what it was told. */
export async function chainIdOf(provider: Provider): Promise<number> {
  return Number(await (provider as JsonRpcApiProvider).send('eth_chainId', []));
}

/** @throws CollateralError CHAIN_UNREACHABLE where the endpoint has none */
export async function latestBlock(provider: Provider): Promise<Block> {
  const block = await provider.getBlock('latest');
  if (block !== null) return block;
  throw new CollateralError('CHAIN_UNREACHABLE', {
    expected: 'the latest block',
    got: 'none',
    rule: 'contracts/SPEC.md §18',
    action: 'check the chain that the settings name',
  });
}

/** Terms as the contract's ABI takes them. */
export function termsStruct(terms: Terms): TermsStruct {
  return {
    ...terms,
    client: checksummed(terms.client),
    provider: checksummed(terms.provider),
    keyBroker: checksummed(terms.keyBroker),
    token: checksummed(terms.token),
    attestors: terms.attestors.map(checksummed),
    dutySelectors: [...terms.dutySelectors],
  };
}

/**
 * A provider that never asks again which chain it is on and polls fast enough for a local one. A call that is not
 * answered within `answerWithinMs` is repeated a few times, then fails as CHAIN_UNREACHABLE: nothing waits for ever on a
 * chain that is away.
 */
export function connect(url: string, chainId: number, pollingMs = 100, answerWithinMs = 30_000): JsonRpcProvider {
  const request = new FetchRequest(url);
  request.timeout = answerWithinMs;
  return new PatientProvider(request, chainId, { staticNetwork: true, pollingInterval: pollingMs, cacheTimeout: -1 });
}

/** Each call is repeated by itself, so that one lost answer does not undo the many calls of one transaction. */
class PatientProvider extends JsonRpcProvider {
  override _send(payload: JsonRpcPayload | JsonRpcPayload[]): Promise<JsonRpcResult[]> {
    return patiently(() => super._send(payload));
  }
}
