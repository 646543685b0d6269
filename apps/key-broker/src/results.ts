/**
 * The party that signs Availability of an encrypted result holds and serves it (contracts/SPEC.md §12): it takes the
 * pieces of a committed run whose terms name it, signs Availability when all of them are on its disk, and keeps them.
 */
import { CollateralError, fromHex, Rejection, signRecoverable, to0x, toHex } from '#attestation/base';
import {
  availabilityDigest,
  chunkListDigest,
  decodeTerms,
  deliveryDigest,
  domainSeparator,
  escrowIdOf,
  type Terms,
} from '#attestation/records';
import type { JobState } from '#libs/settlement';
import { accountOf, refused, requireEscrow } from './authorise.js';
import type { SpeakerConfig } from './config.js';
import { liveStates } from './escrow.js';
import type { Journal } from './journal.js';
import { chunkLength, sha256, type ResultStore, type StoredDelivery } from './result-store.js';

const keptSeconds = 30 * 86_400;
/** Availability that was signed and lasts this long still is signed again as it is: anybody may ask for it. */
const longEnoughSeconds = 29 * 86_400;

interface OfferedDelivery {
  readonly job: string;
  /** abi.encode(Terms). */
  readonly terms: Uint8Array;
  readonly length: number;
  readonly hashes: readonly string[];
  readonly keyCommit: string;
}

interface SignedAvailability {
  /** 65 bytes over Availability{job, ciphertextDigest, until} in the escrow's domain. */
  readonly signature: Uint8Array;
  readonly account: Uint8Array;
  readonly ciphertextDigest: string;
  /** Unix seconds. */
  readonly until: number;
}

export interface Results {
  /**
   * @throws Rejection TERMS_*, BROKER_ACCOUNT, BROKER_ESCROW, BROKER_DELIVERY; CollateralError CHAIN_UNREACHABLE,
   * BROKER_RESULTS
   */
  offer(offered: OfferedDelivery, at: number): Promise<StoredDelivery>;
  /** @throws Rejection BROKER_RESULT_UNKNOWN, BROKER_CHUNK; CollateralError BROKER_RESULTS */
  take(job: string, index: number, chunk: Uint8Array): StoredDelivery;
  /** @throws Rejection BROKER_RESULT_UNKNOWN */
  find(job: string): StoredDelivery;
  missing(delivery: StoredDelivery): readonly number[];
  /** @throws Rejection BROKER_RESULT_UNKNOWN */
  fileOf(job: string, index: number): string;
  /** @throws Rejection as `offer`, BROKER_RESULT_UNKNOWN, BROKER_RESULT_INCOMPLETE; CollateralError BROKER_JOURNAL */
  attest(terms: Uint8Array, at: number): Promise<SignedAvailability>;
  /** Forgets what was kept for long enough after the end of its escrow. */
  sweep(at: number): Promise<void>;
}

interface Parts {
  readonly config: SpeakerConfig;
  readonly store: ResultStore;
  readonly journal: Journal;
}

export function createResults(parts: Parts): Results {
  const { store } = parts;
  const signed: Signed = new Map();
  const find = (job: string): StoredDelivery => store.find(job) ?? unknown(job);
  return {
    find,
    missing: (delivery) => missingOf(store, delivery),
    offer: (offered, at) => offer(parts, offered, at),
    take(job, index, chunk) {
      const delivery = find(job);
      const expected = delivery.hashes[index] ?? unknown(`${job}/${index}`);
      const got = sha256(chunk);
      if (chunk.length !== chunkLength(delivery, index) || got !== expected) {
        throw refused('BROKER_CHUNK', `chunk ${index} with SHA-256 ${expected}`, `${chunk.length} bytes with ${got}`);
      }
      store.putChunk(job, index, chunk);
      return delivery;
    },
    fileOf: (job, index) => store.chunkFile(find(job), index) ?? unknown(`${job}/${index}`),
    attest: (terms, at) => attest(parts, signed, terms, at),
    sweep: (at) => sweep(parts, at),
  };
}

async function offer(
  { config, store }: Parts,
  { job, terms: encoded, length, hashes, keyCommit }: OfferedDelivery,
  at: number,
): Promise<StoredDelivery> {
  const terms = decodeTerms(encoded);
  checkNamed(config, terms);
  if (to0x(escrowIdOf(terms)) !== job) throw refused('BROKER_ESCROW', `terms of escrow ${job}`, 'others');
  const listed = chunkListDigest(length, hashes.map(fromHex));
  const run = await config.escrow.deliveryOf(terms);
  if (run?.state !== 'Committed') {
    throw refused('BROKER_ESCROW', 'an escrow that is Committed', run?.state ?? 'one without a run');
  }
  const given = toHex(deliveryDigest(listed, fromHex(keyCommit)));
  if (toHex(run.delivery) !== given) throw refused('BROKER_DELIVERY', `delivery ${toHex(run.delivery)}`, given);
  const ciphertextDigest = to0x(listed);
  const kept = store.find(job);
  if (kept?.ciphertextDigest === ciphertextDigest) return kept;
  const ids = { job, terms: to0x(encoded), length, hashes: [...hashes], keyCommit, ciphertextDigest };
  const made = { ...ids, until: at + keptSeconds, endedAt: null };
  store.put(made);
  return made;
}

/** What was found whole and signed for since the start: digest of the ciphertext and `until`, by job. */
type Signed = Map<string, Pick<StoredDelivery, 'ciphertextDigest' | 'until'>>;

async function attest(parts: Parts, signed: Signed, encoded: Uint8Array, at: number): Promise<SignedAvailability> {
  const { config, store, journal } = parts;
  const terms = decodeTerms(encoded);
  checkNamed(config, terms);
  const job = to0x(escrowIdOf(terms));
  const found = (): StoredDelivery => {
    const delivery = store.find(job) ?? unknown(job);
    const missing = missingOf(store, delivery);
    if (missing.length > 0) throw incomplete(missing);
    return delivery;
  };
  const isLongEnough = ({ ciphertextDigest }: StoredDelivery): boolean => {
    const before = signed.get(job);
    return before?.ciphertextDigest === ciphertextDigest && before.until >= at + longEnoughSeconds;
  };
  if (!isLongEnough(found())) {
    await requireEscrow(config, terms, ['Committed']);
    // Others may have asked meanwhile.
    const delivery = found();
    if (!isLongEnough(delivery)) {
      if (!store.isWhole(delivery)) throw incomplete([]);
      const { ciphertextDigest } = delivery;
      const until = Math.max(delivery.until, at + keptSeconds);
      store.put({ ...delivery, until });
      journal.append({ at, decision: 'available', job, ciphertextDigest, until });
      signed.set(job, { ciphertextDigest, until });
    }
  }
  return signatureOf(config, job, signed.get(job)!);
}

function signatureOf(
  config: SpeakerConfig,
  job: string,
  { ciphertextDigest, until }: Pick<StoredDelivery, 'ciphertextDigest' | 'until'>,
): SignedAvailability {
  const { chainId, contract } = config.settlement;
  const domain = domainSeparator({ chainId, verifyingContract: contract });
  const digest = availabilityDigest(domain, fromHex(job), fromHex(ciphertextDigest), until);
  const signature = signRecoverable(digest, config.signingSecret);
  return { signature, account: accountOf(config), ciphertextDigest, until };
}

async function sweep({ config, store }: Parts, at: number): Promise<void> {
  for (const delivery of store.all()) {
    const state = await stateOf(config, delivery);
    if (state === undefined) continue;
    const isOver = ![...liveStates, 'Committed'].includes(state);
    const endedAt = isOver ? (delivery.endedAt ?? at) : null;
    if (endedAt !== null && at > Math.max(endedAt + keptSeconds, delivery.until)) store.remove(delivery.job);
    else if (endedAt !== delivery.endedAt) store.put({ ...delivery, endedAt });
  }
}

function missingOf(store: ResultStore, delivery: StoredDelivery): readonly number[] {
  return [...delivery.hashes.keys()].filter((index) => store.chunkFile(delivery, index) === undefined);
}

/** @throws Rejection BROKER_ACCOUNT, BROKER_CLIENT */
function checkNamed(config: SpeakerConfig, terms: Terms): void {
  const account = accountOf(config);
  const named = config.attestOnly ? terms.attestors : [terms.keyBroker];
  if (!named.some((one) => toHex(one) === toHex(account))) {
    throw refused('BROKER_ACCOUNT', `terms that name ${toHex(account)}`, named.map(toHex).join(', '));
  }
  if (config.clients !== undefined && !config.clients.has(toHex(terms.client))) {
    throw refused('BROKER_CLIENT', 'an escrow of a client that the owner named', toHex(terms.client));
  }
}

/** Undefined while the chain is away. */
async function stateOf({ escrow }: SpeakerConfig, { terms }: StoredDelivery): Promise<JobState | undefined> {
  try {
    return (await escrow.stateOf(decodeTerms(fromHex(terms)))).latest;
  } catch (error) {
    if (error instanceof CollateralError) return undefined;
    throw error;
  }
}

function unknown(got: string): never {
  throw new Rejection('BROKER_RESULT_UNKNOWN', {
    expected: 'a result, or a piece of one, that is stored here',
    got,
    rule: 'key broker API, results',
    action: 'offer the delivery, then send its chunks',
  });
}

function incomplete(missing: readonly number[]): Rejection {
  return new Rejection('BROKER_RESULT_INCOMPLETE', {
    expected: 'every chunk on disk',
    got: `without ${missing.slice(0, 20).join(', ')}`,
    rule: 'contracts/SPEC.md §12',
    action: 'send the missing chunks, then ask again',
  });
}
