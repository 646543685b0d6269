/** What the host does on chain, and at the key broker, once a next move is decided. */
import { CodedError, isZero } from '#attestation/base';
import { ciphertextDigest, decodeTerms, escrowIdOf, keyCommitment, type Terms } from '#attestation/records';
import { createBrokerClient, note } from '#libs/node';
import type { SettlementClient } from '#libs/settlement';
import { digestOf, isPublishable, type Ciphertexts } from './ciphertexts.js';
import type { KeptProofs } from './kept-proofs.js';
import type { Move } from './next-move.js';
import { bringHeld, hasReadableProofs } from './owed-proofs.js';
import { ciphertextOf, hasResult, type PendingEscrow, type PendingResult } from './pending.js';
import type { HostSettings } from './settings.js';

interface MoveParts {
  readonly escrow: SettlementClient;
  readonly settings: Pick<HostSettings, 'brokers' | 'escrow'>;
  readonly ciphertexts: Pick<Ciphertexts, 'whole'>;
  readonly proofs: KeptProofs;
  withStake<T>(work: () => Promise<T>): Promise<T>;
}

interface Moves {
  /** @returns whether it was done: not while proofs that the run owes are missing */
  commit(held: PendingResult): Promise<boolean>;
  /**
   * @param besides tried whatever becomes of the first; absent or null: none
   * @returns the first where it was made: 'wait' where the chain is not ready for it, or nothing was left to do
   */
  move(held: PendingEscrow, terms: Terms, what: Move, besides?: Move | null): Promise<Move>;
}

export function movesOf({ escrow, settings, ciphertexts, proofs, withStake }: MoveParts): Moves {
  const brokerOf = ({ brokerUrl }: PendingEscrow) => createBrokerClient(brokerUrl, settings.brokers);

  async function commit(held: PendingResult): Promise<boolean> {
    if (!(await hasReadableProofs(held, proofs))) return false;
    const { borders, keys, seal, run } = held.result;
    const { outcome, delivery } = run;
    const seedProvider = new Uint8Array(32);
    await escrow.commit(decodeTerms(held.terms), { outcome, borders, keys, seal, delivery, seedProvider });
    return true;
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
    await withStake(() => escrow.stakeDownTo(token, settings.escrow.stakeMaxWei));
    await escrow.withdraw(token);
  }

  /** False: nothing was done. */
  const simple: Partial<Record<Move, (terms: Terms) => Promise<unknown>>> = {
    abort: (terms) => escrow.abort(terms),
    abandon: (terms) => escrow.abandon(terms),
    resign: (terms) => escrow.resign(terms),
    undelivered: (terms) => escrow.undelivered(terms),
    // The key stays closed: nothing is paid for it.
    unsealed: (terms) => escrow.finalize(terms),
    lapse: (terms) => lapseUnmet(escrow, terms),
    end: takeOut,
  };

  /** The same. */
  const withResult: Partial<Record<Move, (held: PendingResult, terms: Terms) => Promise<unknown>>> = {
    commit,
    discharge: (held, terms) => bringHeld(held, terms, escrow, proofs),
    store,
    answer,
    publish,
    finalize: (held, terms) => escrow.finalize(terms, revealed(held)),
  };

  async function take(held: PendingEscrow, terms: Terms, what: Move): Promise<Move> {
    try {
      const done = [await simple[what]?.(terms), hasResult(held) ? await withResult[what]?.(held, terms) : undefined];
      return done.includes(false) ? 'wait' : what;
    } catch (error) {
      if (error instanceof CodedError && error.code === 'CHAIN_NOT_FINAL') return 'wait';
      throw error;
    }
  }

  return { commit, move: withBesides(take) };
}

function withBesides(take: Moves['move']): Moves['move'] {
  return async (held, terms, what, besides = null) => {
    try {
      return await take(held, terms, what);
    } finally {
      if (besides !== null) await take(held, terms, besides);
    }
  };
}

/**
 * Nobody proved a run whose seal was taken away: price and stake go back. For a segment that was challenged the stake would
 * be lost.
 */
async function lapseUnmet(escrow: SettlementClient, terms: Terms): Promise<boolean> {
  const segment = await escrow.duties.unmet(terms);
  if (segment === null) return false;
  try {
    await escrow.duties.lapse(terms, segment);
  } catch (error) {
    if (!(error instanceof CodedError) || error.code !== 'VERIFIER_DEAD') throw error;
    await escrow.void(terms);
  }
  return true;
}

function revealed(held: PendingResult) {
  const { revealKey, run } = held.result;
  return isZero(run.delivery) ? undefined : { ciphertextDigest: digestOf(ciphertextOf(held)), key: revealKey };
}
