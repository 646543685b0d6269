/** The host operator's side of the escrow: stake and start before the work, seal and reveal after it. */
import { Wallet } from 'ethers';
import { equalBytes, fromHex, to0x, toHex } from '#attestation/base';
import { bringsResult, decodeTerms, escrowIdOf, parseJobSpec, type Terms } from '#attestation/records';
import {
  addressBytes,
  ChainClock,
  connect,
  inTurn,
  isEnded,
  isLastCall,
  latestBlock,
  publishEstimate,
  revealMarginOf,
  SettlementClient,
} from '#libs/settlement';
import { checkProvedPlan } from './proved-plan.js';
import { engage, hasStarted, type Engaged } from './engage.js';
import { movesOf } from './moves.js';
import { isPressing, moveBesides, nextMove, type Move, type Situation } from './next-move.js';
import { lackingProofs } from './owed-proofs.js';
import { hasResult, type PendingEscrow, type PendingEscrows, type PendingResult } from './pending.js';
import type { Transaction } from './registration.js';
import type { HostSettings } from './settings.js';
import { limitsOn, resultBytesOf, type OwnSide } from './terms.js';

interface KeptStake {
  /** 0x-hexadecimal; zero: the native coin. */
  readonly token: string;
  readonly free: bigint;
  readonly locked: bigint;
}

export interface Provider {
  /** What terms have to name, and what they may ask. */
  readonly own: OwnSide;
  /** What putting the job's result on chain would cost now. @param spec its encoding */
  publishEstimate(spec: Uint8Array): Promise<bigint>;
  /** Whether the chain takes the proofs that the job may owe, while it is not accepted. @throws what `checkProvedPlan` throws */
  checkPlan(spec: Uint8Array, terms: Terms): Promise<void>;
  /** Locks the stake, starts the job and binds the session's settlement key to it. Idempotent. */
  engage(terms: Terms, session: Engaged): Promise<readonly Transaction[]>;
  /** Whether a session before this one has started it: the next one binds its key before it works. */
  hasStarted(terms: Terms): Promise<boolean>;
  /** Whether a run is owed, or may be as soon as `engage` has come to its end. */
  isOwed(terms: Terms): Promise<boolean>;
  /** Commits the sealed run, unless proofs that it would owe are missing; idempotent. */
  commit(escrow: PendingResult): Promise<void>;
  /** Whether the chain has this very run. */
  hasCommitted(escrow: PendingResult): Promise<boolean>;
  /** Takes the next step towards the money. @returns which it was */
  collect(escrow: PendingEscrow): Promise<Move>;
  /** Of this account, in the native coin and in every token that it takes. */
  keptStake(): Promise<readonly KeptStake[]>;
  close(): void;
}

export function createProvider(
  settings: HostSettings,
  { ciphertexts, proofs }: Pick<PendingEscrows, 'ciphertexts' | 'proofs'>,
): Provider {
  const { rpcUrl, deployment, pollingMs, confirmations, feePerGasMaxWei } = settings.chain;
  const rpc = connect(rpcUrl, deployment.chainId, pollingMs);
  const wallet = new Wallet(settings.providerSecret, rpc);
  const escrow = new SettlementClient(deployment, wallet, { confirmations, feePerGasMaxWei });
  const clock = new ChainClock();
  const own = ownSideOf(settings, escrow, addressBytes(wallet.address));
  /** A lease and the collection may come to one escrow at once: a resignation on its way is over before another session works. */
  const oneByOne = <T>(terms: Terms, work: () => Promise<T>): Promise<T> =>
    inTurn(`escrow ${to0x(escrowIdOf(terms))}`, work);
  /** What is deposited for one job must not be taken out before it is locked. */
  const withStake = <T>(work: () => Promise<T>): Promise<T> => inTurn(`stake of ${wallet.address}`, work);

  async function look(held: PendingEscrow, terms: Terms): Promise<Situation> {
    const head = await latestBlock(rpc);
    const last = Math.max(0, head.number - confirmations + 1);
    const [latest, confirmed] = [await escrow.job(terms, head.number), await escrow.job(terms, last)];
    const { least, most } = clock.at(head);
    const lacksProofs = lackingProofs(held, proofs).length > 0;
    const isIdle = held.result === null && isLastCall(terms, latest, least);
    const mayResign = latest.state === 'Started' && (isIdle || lacksProofs);
    const isDue = latest.state === 'Committed' && held.spec !== undefined && isPressing(terms, latest, least);
    return {
      ...{ terms, latest, confirmed, chainTime: head.timestamp, timeAtLeast: least, timeAtMost: most },
      delivery: held.result === null ? null : to0x(held.result.run.delivery),
      isTold: held.told === true,
      isStopped: hasResult(held) && !bringsResult(held.result.run),
      lacksProofs,
      bringsProofs: isDue && proofs.held(toHex(held.jobId)).length > 0,
      isStored: held.stored,
      isNewest: mayResign && equalBytes((await escrow.keys.newest(terms)) ?? held.key, held.key),
      revealMargin: revealMarginOf(escrow.settings, terms.windows.reveal),
    };
  }

  const { commit, move } = movesOf({ escrow, settings, ciphertexts, proofs, withStake });
  const engagement = { escrow, policies: settings.snpPolicies, withStake };

  return {
    own,
    publishEstimate: (spec) => publishEstimate(resultBytesOf(parseJobSpec(spec)), rpc),
    async checkPlan(spec, terms) {
      if (terms.dutySelectors.length === 0) return;
      const { state } = await escrow.job(terms);
      if (state === 'None' || state === 'Open') await checkProvedPlan(parseJobSpec(spec), deployment, rpc);
    },
    engage: (terms, session) => oneByOne(terms, () => engage(terms, session, engagement)),
    hasStarted: (terms) => oneByOne(terms, () => hasStarted(terms, escrow)),
    isOwed: async (terms) => !isEnded((await escrow.job(terms)).state),
    commit: (held) => oneByOne(decodeTerms(held.terms), async () => void (await commit(held))),
    async hasCommitted({ terms, result }) {
      const { state, delivery } = await escrow.job(decodeTerms(terms));
      return state === 'Committed' && delivery === to0x(result.run.delivery);
    },
    collect(held) {
      const terms = decodeTerms(held.terms);
      return oneByOne(terms, async () => {
        const situation = await look(held, terms);
        const next = nextMove(situation);
        return move(held, terms, next, moveBesides(next, situation));
      });
    },
    keptStake() {
      const tokens = [to0x(new Uint8Array(20)), ...settings.escrow.tokens];
      const inToken = async (token: string) => ({ token, ...(await escrow.stakeOf(wallet.address, fromHex(token))) });
      return Promise.all(tokens.map(inToken));
    },
    close: () => rpc.destroy(),
  };
}

function ownSideOf(settings: HostSettings, escrow: SettlementClient, account: Uint8Array): OwnSide {
  const { chainId, settlement } = settings.chain.deployment;
  const { attestors, snpPolicies } = settings;
  const named = { account, chainId, settlement: addressBytes(settlement) };
  return { ...named, attestors, snpPolicies, limits: limitsOn(escrow.settings, settings.escrow) };
}
