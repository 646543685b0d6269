/** The host operator's side of the escrow: stake and start before the work, seal and reveal after it. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Wallet } from 'ethers';
import {
  CodedError,
  CollateralError,
  decodeTerms,
  isZero,
  keyCommitment,
  Rejection,
  toHex,
  type Terms,
} from '#attestation';
import { type BrokerAppraisal, type BrokerRelease, createBrokerClient } from '#libs/dispatch-client';
import { addressBytes, connect, inTurn, SettlementClient, type TxReceipt } from '#libs/settlement';
import { isEnded, nextMove, type Move } from './next-move.js';
import { hasResult, type PendingEscrow, type PendingResult } from './pending.js';
import type { HostSettings } from './settings.js';
import type { OwnSide } from './terms.js';

export interface Transaction {
  readonly call: string;
  readonly hash: string;
}

export interface Provider {
  /** What terms have to name, and what they may ask. */
  readonly own: OwnSide;
  /** Locks the stake, registers the session's settlement key, starts the job. Idempotent. */
  engage(terms: Terms, answer: BrokerRelease): Promise<readonly Transaction[]>;
  /** Whether a run is owed, or may be as soon as `engage` has come to its end. */
  isOwed(terms: Terms): Promise<boolean>;
  /** Commits the sealed run; idempotent. */
  commit(escrow: PendingResult): Promise<void>;
  /** The same, with the broker's newest word on the session brought to the registry before a run is committed. */
  prolonging(newest: () => Pick<BrokerAppraisal, 'appraisal' | 'appraisalSignature'>): Provider;
  /** Whether the chain has this very run. */
  hasCommitted(escrow: PendingResult): Promise<boolean>;
  /** Takes the next step towards the money. @returns which it was */
  collect(escrow: PendingEscrow): Promise<Move>;
  close(): void;
}

/** What may be put on chain where no attestor vouches for it: sixty-four KiB still fit one transaction. */
const publishBytesMax = 64 * 1024;
const commitAttempts = 8;
const commitPauseMs = 1000;

export function createProvider(settings: HostSettings): Provider {
  const { rpcUrl, deployment, pollingMs, confirmations } = settings.chain;
  const rpc = connect(rpcUrl, deployment.chainId, pollingMs);
  const wallet = new Wallet(settings.providerSecret, rpc);
  const escrow = new SettlementClient(deployment, wallet, { confirmations });
  const { chainId, settlement } = deployment;
  const account = addressBytes(wallet.address);
  const own = { account, chainId, settlement: addressBytes(settlement), limits: settings.escrow };
  const named = (call: string, { txHash }: TxReceipt): Transaction => ({ call, hash: txHash });
  /** A lease and the collection may come to one escrow at once. */
  const oneByOne = <T>({ jobId }: PendingEscrow, work: () => Promise<T>): Promise<T> =>
    inTurn(`escrow of ${hex(jobId)}`, work);
  /** What is deposited for one job must not be taken out before it is locked. */
  const withStake = <T>(work: () => Promise<T>): Promise<T> => inTurn(`stake of ${wallet.address}`, work);

  async function decide(held: PendingEscrow, terms: Terms): Promise<Move> {
    const head = await rpc.getBlock('latest');
    if (head === null) throw noBlock();
    const last = Math.max(0, head.number - confirmations + 1);
    const [latest, confirmed] = [await escrow.job(terms, head.number), await escrow.job(terms, last)];
    const delivery = held.result === null ? null : hex(held.result.run.delivery);
    const now = Math.floor(Date.now() / 1000);
    const isTold = held.told === true;
    return nextMove({ terms, latest, confirmed, chainTime: head.timestamp, now, delivery, isTold });
  }

  const { commit, move } = movesOf({ escrow, settings, address: wallet.address, withStake });

  const provider: Provider = {
    own,
    prolonging: (newest) => ({
      ...provider,
      commit: (held) =>
        whileFresh(newest, async ({ appraisal, appraisalSignature }) => {
          await escrow.registerEnclave(appraisal, [appraisalSignature]);
          await provider.commit(held);
        }),
    }),
    async engage(terms, { account: signer, appraisal, appraisalSignature, release, releaseSignature }) {
      const { state } = await escrow.job(terms);
      if (state === 'None') throw noEscrow();
      if (isEnded(state)) throw ended(state);
      await escrow.checkRegistration(appraisal, [appraisalSignature]);
      const accepted = await withStake(() => escrow.accept(terms));
      const registered = await escrow.registerEnclave(appraisal, [appraisalSignature]);
      const { enclaveKey, shardsDigest } = release;
      const started = await escrow.start(terms, { enclaveKey, shardsDigest, signer, signature: releaseSignature });
      return [named('accept', accepted), named('register', registered), named('start', started)];
    },
    isOwed: async (terms) => !isEnded((await escrow.job(terms)).state),
    commit: (held) => oneByOne(held, () => commit(held)),
    async hasCommitted({ terms, result }) {
      const { state, delivery } = await escrow.job(decodeTerms(terms));
      return state === 'Committed' && delivery === hex(result.run.delivery);
    },
    collect: (held) =>
      oneByOne(held, async () => {
        const terms = decodeTerms(held.terms);
        const what = await decide(held, terms);
        await move(held, terms, what);
        return what;
      }),
    close: () => rpc.destroy(),
  };
  return provider;
}

type Word = Pick<BrokerAppraisal, 'appraisal' | 'appraisalSignature'>;

/** Again with the next word where a registration ended on the way to its block: renewals go on meanwhile. */
async function whileFresh(newest: () => Word, work: (word: Word) => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const word = newest();
    try {
      return await work(word);
    } catch (error) {
      const isExpired = error instanceof CodedError && error.code === 'ENCLAVE_EXPIRED';
      if (!isExpired || attempt === commitAttempts) throw error;
      await sleep(Math.max(commitPauseMs, (1000 * word.appraisal.notAfter - Date.now()) / 2));
    }
  }
}

interface Hands {
  readonly escrow: SettlementClient;
  readonly settings: HostSettings;
  readonly address: string;
  withStake<T>(work: () => Promise<T>): Promise<T>;
}

/** What the host does on chain once a next move is decided. */
function movesOf({ escrow, settings, address, withStake }: Hands) {
  async function commit({ terms, result: { run, borders, seal } }: PendingResult): Promise<void> {
    const { outcome, delivery } = run;
    await escrow.commit(decodeTerms(terms), { outcome, borders, seal, delivery, seedProvider: new Uint8Array(32) });
  }

  /** The client says that it cannot get the ciphertext: an attestor says that it can, or everybody can. */
  async function answerMissing({ terms, result, brokerUrl }: PendingResult): Promise<void> {
    const read = decodeTerms(terms);
    const { ciphertext, revealKey } = result;
    const keyCommit = keyCommitment(revealKey);
    try {
      const { signature } = await createBrokerClient(brokerUrl, settings.brokers).availability({ terms, ciphertext });
      await escrow.available(read, sha256(ciphertext), keyCommit, [signature]);
    } catch (error) {
      if (ciphertext.length > publishBytesMax) throw error;
      await escrow.publish(read, keyCommit, ciphertext);
    }
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

  async function move(held: PendingEscrow, terms: Terms, what: Move): Promise<void> {
    switch (what) {
      case 'wait':
        return;
      case 'abort':
        return void (await escrow.abort(terms));
      case 'abandon':
        return void (await escrow.abandon(terms));
      case 'undelivered':
        return void (await escrow.undelivered(terms));
      case 'commit':
        return hasResult(held) ? commit(held) : undefined;
      case 'answer':
        return hasResult(held) ? answerMissing(held) : undefined;
      case 'finalize':
        return void (await escrow.finalize(terms, hasResult(held) ? revealed(held) : undefined));
      case 'end':
        return takeOut(terms);
    }
  }

  return { commit, move };
}

function revealed({ result: { ciphertext, revealKey, run } }: PendingResult) {
  return isZero(run.delivery) ? undefined : { ciphertextDigest: sha256(ciphertext), key: revealKey };
}

function sha256(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(createHash('sha256').update(bytes).digest());
}

function hex(bytes: Uint8Array): string {
  return `0x${toHex(bytes)}`;
}

function noBlock(): CollateralError {
  return new CollateralError('CHAIN_UNREACHABLE', {
    expected: 'the latest block',
    got: 'none',
    rule: 'settlement §18',
    action: 'check the chain that the settings name',
  });
}

function noEscrow(): CollateralError {
  return new CollateralError('HOST_ESCROW_MISSING', {
    expected: 'an escrow under the terms of the job',
    got: 'none on the chain of this host',
    rule: 'settlement §6',
    action: 'wait until the chain of this host has the block in which it was opened',
  });
}

function ended(state: string): Rejection {
  return new Rejection('HOST_ESCROW_ENDED', {
    expected: 'an escrow that may still pay',
    got: `one that is ${state}`,
    rule: 'settlement §6',
  });
}
