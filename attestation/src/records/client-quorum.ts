/**
 * Whether a client's side can take a seal away by itself, and so end a job that it need not pay for
 * (contracts/SPEC.md §10).
 */
import { equalBytes, to0x } from '../base/bytes.js';
import type { Terms } from './terms.js';

export interface ClientQuorum {
  /** Of those who revoke, how many are of the client's side. */
  readonly side: number;
  /** How many of those who revoke it takes: max(1, needed). */
  readonly required: number;
  readonly isAlone: boolean;
  /** Whether the client is its own key broker: then nobody can call that one independent. */
  readonly isOwnBroker: boolean;
}

type Parties = Pick<Terms, 'client' | 'keyBroker' | 'attestors' | 'needed'>;

/** @param independent accounts of key brokers that are not taken for the client's own, 0x-hexadecimal, in lower case */
export function clientQuorum(parties: Parties, independent: readonly string[] = []): ClientQuorum {
  const { client, keyBroker, attestors, needed } = parties;
  const isOwnBroker = equalBytes(client, keyBroker);
  const isBrokers = isOwnBroker || !independent.includes(to0x(keyBroker));
  const side = (isBrokers ? 1 : 0) + attestors.filter((one) => equalBytes(one, client)).length;
  const required = Math.max(1, needed);
  return { side, required, isAlone: side >= required, isOwnBroker };
}

/** What makes such terms acceptable, for whoever reads it: the client names others, or the host's operator says so. */
export function quorumRemedy({ keyBroker }: Pick<Terms, 'keyBroker'>, { side, isOwnBroker }: ClientQuorum): string {
  const broker = to0x(keyBroker);
  return [
    `let the client name at least ${side + 1} attestors that are not its own with --attestors and --needed ${side + 1}`,
    ...(isOwnBroker ? [] : [`or put ${broker} into escrow.independentBrokers of the host, whose word it then is`]),
    'or set escrow.acceptClientQuorum of the host to true',
  ].join('; ');
}
