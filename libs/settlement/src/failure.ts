/** Failures of the chain in this repository's three families; a contract's custom error keeps its name as the code. */
import { Interface, isError } from 'ethers';
import { CodedError, CollateralError, ConfigurationError, Rejection } from '#attestation/base';

/** Gas of one transaction, EIP-7825. */
export const gasMax = 16_777_216n;

const transient = new Set(['NETWORK_ERROR', 'TIMEOUT', 'SERVER_ERROR', 'UNKNOWN_ERROR']);

/**
 * @param abi of every contract whose errors may come back
 * @returns Rejection with the contract's error name, or CHAIN_GAS; ConfigurationError CHAIN_FUNDS; CollateralError CHAIN_UNREACHABLE, CHAIN_NONCE
 */
export function chainFailure(error: unknown, call: string, abi: Interface): Error {
  if (error instanceof CodedError) return error;
  if (isError(error, 'CALL_EXCEPTION')) {
    const parsed = typeof error.data === 'string' && error.data.length >= 10 ? abi.parseError(error.data) : null;
    const name = parsed?.name ?? error.revert?.name;
    if (name === undefined && isOutOfGas(error)) return outOfGas(call, wordsOf(error).slice(0, 200));
    return new Rejection(name ?? 'CHAIN_REVERT', {
      expected: `${call} to be possible`,
      got: parsed ? `${parsed.name}(${parsed.args.map(String).join(', ')})` : error.shortMessage,
      rule: 'contracts/SPEC.md §6',
    });
  }
  if (isOutOfGas(error)) return outOfGas(call, wordsOf(error).slice(0, 200));
  if (isError(error, 'INSUFFICIENT_FUNDS')) {
    return new ConfigurationError('CHAIN_FUNDS', {
      expected: `gas money and value for ${call}`,
      got: error.shortMessage,
      rule: 'contracts/SPEC.md §17',
      action: 'fund the account',
    });
  }
  if (isError(error, 'NONCE_EXPIRED') || isError(error, 'REPLACEMENT_UNDERPRICED')) {
    return new CollateralError('CHAIN_NONCE', {
      expected: `a free nonce for ${call}`,
      got: error.shortMessage,
      rule: 'contracts/SPEC.md §18',
      action: 'try again: other transactions of this account are under way',
    });
  }
  if (isTransient(error)) {
    return new CollateralError('CHAIN_UNREACHABLE', {
      expected: `an answer to ${call}`,
      got: shortOf(error).slice(0, 200),
      rule: 'contracts/SPEC.md §18',
      action: 'try again; if it stays, check that a chain answers at the address in your settings',
    });
  }
  return error instanceof Error ? error : new Error(String(error));
}

/** @param got how much was had, or the node's words */
export function outOfGas(call: string, got: string): Rejection {
  return new Rejection('CHAIN_GAS', {
    expected: `${call} within the gas that it is given, at most ${gasMax} of one transaction`,
    got,
    rule: 'contracts/SPEC.md §18',
    action:
      'try again: gas is estimated anew; if it stays, use an endpoint that lets calls have as much, or a proof that takes less, such as one in two transactions',
  });
}

/** Nodes say it each in words of its own, of a call that had too little as of a transaction that asks for too much. */
const ofGas = [
  /\bout ?of ?gas\b|gas required exceeds|intrinsic gas too (low|high)/i,
  /gas ?limit( is)? (too high|exceeds|greater than|must be)|exceeds (the )?(block|max(imum)?) gas ?limit|GasLimit(Cap)?Exceeded/i,
];

function isOutOfGas(error: unknown): boolean {
  return ofGas.some((words) => words.test(wordsOf(error)));
}

/** What the node itself said: of a call the library keeps it one level deeper. */
export function wordsOf(error: unknown): string {
  type Words = { error?: { message?: unknown } } | null | undefined;
  const said = error as Words & { info?: Words };
  const inner = said?.error?.message ?? said?.info?.error?.message;
  return typeof inner === 'string' ? inner : '';
}

/** The library's whole message has the endpoint's URL in it, and with that the key that providers put there. */
function shortOf(error: unknown): string {
  const short = (error as { shortMessage?: unknown } | null)?.shortMessage;
  if (typeof short === 'string') return short;
  return error instanceof Error ? error.message : String(error);
}

export function isTransient(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  if (isOutOfGas(error)) return false;
  return typeof code === 'string' && (transient.has(code) || code.startsWith('ECONN') || code === 'EPIPE');
}
