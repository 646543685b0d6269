/** What the host does on chain, and at the key broker, once a next move is decided. */
import { CodedError, isZero } from '#attestation/base';
import { ciphertextDigest, decodeTerms, escrowIdOf, keyCommitment, type Terms } from '#attestation/records';
import { createBrokerClient, note } from '#libs/node';
import type { SettlementClient } from '#libs/settlement';
import { digestOf, isPublishable, type Ciphertexts } from './ciphertexts.js';
import type { Move } from './next-move.js';
import { ciphertextOf, hasResult, type PendingEscrow, type PendingResult } from './pending.js';
import type { HostSettings } from './settings.js';

interface MoveParts {
  readonly escrow: SettlementClient;
  readonly settings: Pick<HostSettings, 'brokers' | 'escrow'>;
  readonly address: string;
  readonly ciphertexts: Pick<Ciphertexts, 'whole'>;
  withStake<T>(work: () => Promise<T>): Promise<T>;
}

interface Moves {
  commit(held: PendingResult): Promise<void>;
  /** @returns the move that was made: 'wait' where the chain is not ready for it */
  move(held: PendingEscrow, terms: Terms, what: Move): Promise<Move>;
}

export function movesOf({ escrow, settings, address, ciphertexts, withStake }: MoveParts): Moves {
  const brokerOf = ({ brokerUrl }: PendingEscrow) => createBrokerClient(brokerUrl, settings.brokers);

  async function commit({ terms, result: { run, borders, keys, seal } }: PendingResult): Promise<void> {
    const { outcome, delivery } = run;
    const seedProvider = new Uint8Array(32);
    await escrow.commit(decodeTerms(terms), { outcome, borders, keys, seal, delivery, seedProvider });
  }

  async function store(held: PendingResult): Promise<void> {
    const { terms, result } = held;
    const { revealKey } = result;
    // Nobody but the control plane keeps a larger one.
    if (!isPublishable(ciphertextOf(held))) return;
    const ciphertext = ciphertexts.whole(ciphertextOf(held));
    await brokerOf(held).store({ job: escrowIdOf(decodeTerms(terms)), terms, ciphertext, revealKey });
  }

  /** The client says that it cannot get the ciphertext: the broker says that it can, or everybody can. */
  async function answer(held: PendingResult, terms: Terms): Promise<void> {
    const { revealKey } = held.result;
    try {
      await store(held);
      const { signature, account: signer, until } = await brokerOf(held).availability(held.terms);
      const said = { until, signatures: [{ signer, signature }] };
      await escrow.delivery.available(terms, digestOf(ciphertextOf(held)), keyCommitment(revealKey), said);
    } catch (error) {
      note('availability', error);
      await publish(held, terms);
    }
  }

  /** @throws Rejection DELIVERY_SIZE */
  async function publish(held: PendingResult, terms: Terms): Promise<void> {
    const ciphertext = ciphertexts.whole(ciphertextOf(held));
    await escrow.delivery.publish(ciphertext);
    await escrow.delivery.published(terms, ciphertextDigest(ciphertext), keyCommitment(held.result.revealKey));
  }

  /** Earnings, and the free stake that no other job may need. */
  async function takeOut({ token }: Terms): Promise<void> {
    await withStake(async () => {
      const { free } = await escrow.stakeOf(address, token);
      const spare = free - settings.escrow.stakeMaxWei;
      if (spare > 0n) await escrow.releaseStake(token, spare);
    });
    await escrow.withdraw(token);
  }

  const simple: Partial<Record<Move, (terms: Terms) => Promise<unknown>>> = {
    abort: (terms) => escrow.abort(terms),
    abandon: (terms) => escrow.abandon(terms),
    resign: (terms) => escrow.resign(terms),
    undelivered: (terms) => escrow.undelivered(terms),
    // The key stays closed: nothing is paid for it.
    unsealed: (terms) => escrow.finalize(terms),
    end: takeOut,
  };

  const withResult: Partial<Record<Move, (held: PendingResult, terms: Terms) => Promise<unknown>>> = {
    commit,
    store,
    answer,
    publish,
    finalize: (held, terms) => escrow.finalize(terms, revealed(held)),
  };

  return {
    commit,
    async move(held, terms, what) {
      try {
        await simple[what]?.(terms);
        if (hasResult(held)) await withResult[what]?.(held, terms);
        return what;
      } catch (error) {
        if (error instanceof CodedError && error.code === 'CHAIN_NOT_FINAL') return 'wait';
        throw error;
      }
    },
  };
}

function revealed(held: PendingResult) {
  const { revealKey, run } = held.result;
  return isZero(run.delivery) ? undefined : { ciphertextDigest: digestOf(ciphertextOf(held)), key: revealKey };
}
