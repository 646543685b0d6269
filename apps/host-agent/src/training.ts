/**
 * One run of the enclave, from its first step to its result. The escrow is engaged once the enclave has found the data
 * to be what the job says; from then on the run goes on whatever becomes of the lease, for a run is owed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { CodedError, CollateralError, Rejection, toBase64 } from '#attestation/base';
import { parseEvaluation } from '#attestation/records';
import { type CipherStore, type ControlPlane, note } from '#libs/node';
import type { EnclaveClient } from '#libs/enclave-channel';
import type { NodeWatch } from '#libs/telemetry';
import { pattern, type LeaseRef } from '#libs/wire';
import type { EnclaveEvent, EventOf } from '#libs/wire/channel';
import type { Ciphertext, Ciphertexts } from './ciphertexts.js';
import type { PendingEscrow } from './pending.js';
import type { Transaction } from './registration.js';

export interface TrainingParts {
  readonly controlPlane: ControlPlane;
  readonly store: CipherStore;
  readonly threads: number;
  /** Where what comes in pieces is kept. */
  readonly ciphertexts: Ciphertexts;
  readonly watch?: Pick<NodeWatch, 'event'>;
}

/** The end of a run, with the ciphertext of its result wherever it lies. */
export type Ended = Kept<EventOf<'result'>> | EventOf<'stopped'>;
type Kept<E> = Omit<E, 'ciphertext'> & { readonly ciphertext: Ciphertext };

export interface Trained {
  readonly end: Ended;
  readonly transactions: readonly Transaction[];
  /** Of every checkpoint of this run. */
  readonly receipts: PendingEscrow['receipts'];
  /** Ends when everything on the way was told, or could not be. @returns what the control plane was not given */
  told(): Promise<PendingEscrow['receipts']>;
}

const retryPauseMs = 1000;
/** Checkpoints that wait to be told; beyond them their receipts alone are kept, for the delivery. */
const waitingMax = 8;

/**
 * Progress and checkpoints go to the control plane in order while the enclave works on.
 * @param engage  is called when the enclave has accepted job, shards and data; a run whose escrow cannot be started
 *   ends with its enclave
 * @throws the enclave's failure; CollateralError ENCLAVE_LOST, ENCLAVE_TIMEOUT; what `engage` throws
 */
export async function train(
  lease: LeaseRef,
  enclave: EnclaveClient,
  parts: TrainingParts,
  checkpoint: Uint8Array | null,
  engage: () => Promise<readonly Transaction[]>,
): Promise<Trained> {
  const started = enclaveEvents(enclave, parts.ciphertexts);
  const engaged = enclave.request('train', { checkpoint, threads: parts.threads }).then(engage);
  const reports = reporter(lease, parts);
  const receipts: { statement: Uint8Array; receipt: Uint8Array }[] = [];
  started.each((event) => {
    if (event.type === 'checkpoint') {
      receipts.push({ statement: event.statement, receipt: event.receipt });
      parts.watch?.event('checkpoint', { leaseId: lease.leaseId, number: receipts.length });
    }
    reports.tell(event);
  });
  reports.begin(engaged);
  try {
    const [transactions, end] = await Promise.all([engaged, started.end]);
    if (end.type === 'stopped') reports.giveUp();
    return { end, transactions, receipts, told: reports.told };
  } catch (error) {
    reports.giveUp();
    if (!started.isOver()) enclave.close();
    // The account does one thing after the other: the next lease engages when this one has done with it.
    await engaged.catch(() => undefined);
    throw error;
  }
}

/** What is told of a run while it goes on. */
type Told = EventOf<'progress'> | Kept<EventOf<'checkpoint'>> | EventOf<'evaluation'>;

/** The run's events as they come, and its end. */
function enclaveEvents(enclave: EnclaveClient, ciphertexts: Ciphertexts) {
  const incoming = ciphertexts.incoming();
  let isOver = false;
  let each: (event: Told) => void = () => undefined;
  const end = new Promise<Ended>((resolve, reject) => {
    const hear = (event: EnclaveEvent): void => {
      switch (event.type) {
        case 'piece':
          return incoming.add(event.index, event.ciphertext);
        case 'checkpoint':
          return each({ ...event, ciphertext: incoming.end(event.ciphertext) });
        case 'progress':
        case 'evaluation':
          return each(event);
        case 'failed':
          isOver = true;
          return reject(enclaveFailure(event));
        case 'partial':
          return;
        case 'result':
          isOver = true;
          return resolve({ ...event, ciphertext: incoming.end(event.ciphertext) });
        case 'stopped':
          isOver = true;
          return resolve(event);
      }
    };
    enclave.onLost(() => reject(enclaveLost()));
    enclave.onEvent((event) => {
      try {
        hear(event);
      } catch (error) {
        reject(error as Error);
      }
    });
  });
  end.catch(() => incoming.close());
  return { end, isOver: () => isOver, each: (listener: typeof each) => void (each = listener) };
}

/** What an enclave said of its training, as the control plane is told. */
export function figuresOf({ step, lossMicro, accuracyPpm, samplesPerSecond, edges }: EventOf<'progress'>) {
  return { step, loss: lossMicro / 1e6, accuracy: accuracyPpm / 1e6, samplesPerSecond, edges };
}

/** Messages about a lease to the control plane. */
function leaseTeller(lease: LeaseRef, { controlPlane, store, ciphertexts }: TrainingParts) {
  return {
    async progress(event: EventOf<'progress'>): Promise<void> {
      await controlPlane.send(pattern.leaseProgress, { ...lease, of: event.of, ...figuresOf(event) });
    },

    async checkpoint({ ciphertext, statement, receipt, step }: Kept<EventOf<'checkpoint'>>): Promise<void> {
      const blob = await ciphertexts.put(ciphertext, store);
      const signed = { statement: toBase64(statement), receipt: toBase64(receipt) };
      await controlPlane.send(pattern.leaseCheckpoint, { ...lease, step, ...signed, blob });
    },

    async evaluation({ evaluated: { statement } }: EventOf<'evaluation'>): Promise<void> {
      const { step, metrics } = parseEvaluation(statement);
      const figures = metrics.map(({ metric, numerator, denominator }) => {
        return { metric, numerator: String(numerator), denominator: String(denominator) };
      });
      await controlPlane.send(pattern.leaseEvaluation, { ...lease, step, metrics: figures });
    },
  };
}

/**
 * Tells what happens, one after the other. What the control plane refuses does not stop the run, and while nobody answers
 * checkpoints wait for whoever comes back.
 */
function reporter(lease: LeaseRef, parts: TrainingParts) {
  const { controlPlane } = parts;
  const teller = leaseTeller(lease, parts);
  const untold: { statement: Uint8Array; receipt: Uint8Array }[] = [];
  const ending = new AbortController();
  /** Nobody takes anything under this lease any more, or nobody answered to the end. */
  let isVain = false;
  let waiting = 0;
  let newest: EventOf<'progress'> | null = null;
  let begin: (engaged: Promise<unknown>) => void = () => undefined;
  let last: Promise<void> = new Promise((resolve) => {
    begin = (engaged) => {
      const running = () => heard(() => controlPlane.send(pattern.leaseRunning, lease)).catch(refusedFor);
      void engaged.then(running, () => (isVain = true)).then(() => resolve());
    };
  });
  const refusedFor = (error: unknown): void => {
    isVain ||= ending.signal.aborted || (error instanceof CodedError && error.code === 'LEASE_FENCED');
    note('report', error);
  };

  /** Asked again as long as the run goes on and not too much waits behind it. */
  async function heard(tell: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        return void (await tell());
      } catch (error) {
        if (!(error instanceof CollateralError) || ending.signal.aborted || waiting > waitingMax) throw error;
        note('report', error);
        await sleep(retryPauseMs, null, { signal: ending.signal }).catch(() => null);
      }
    }
  }

  async function report(event: Told): Promise<void> {
    try {
      // Receipts have an order: after one that was not taken, none is.
      if (!isVain && untold.length === 0) {
        if (event.type === 'checkpoint') return await heard(() => teller.checkpoint(event));
        if (event.type === 'evaluation') return await teller.evaluation(event);
        if (event === newest) return await teller.progress(event);
      }
    } catch (error) {
      refusedFor(error);
    }
    if (event.type === 'checkpoint') untold.push({ statement: event.statement, receipt: event.receipt });
  }

  return {
    begin,
    tell(event: Told): void {
      if (event.type === 'progress') newest = event;
      if (event.type === 'checkpoint') waiting += 1;
      last = last
        .then(() => report(event))
        .then(() => {
          if (event.type !== 'checkpoint') return;
          waiting -= 1;
          parts.ciphertexts.drop(event.ciphertext);
        });
    },
    giveUp: () => ending.abort(),
    told: async () => {
      ending.abort();
      await last;
      return untold;
    },
  };
}

/** A lease that is over is no fault of the job: a session that is attested anew goes on. */
export function enclaveFailure({ code, expected, got, rule, action }: EventOf<'failed'>): CodedError {
  const Family = code === 'ATTESTATION_LAPSED' ? CollateralError : Rejection;
  return new Family(code, { expected, got, rule, action });
}

export function enclaveLost(): CollateralError {
  return new CollateralError('ENCLAVE_LOST', {
    expected: 'the enclave to finish',
    got: 'a closed channel',
    rule: 'enclave/SPEC.md, channel',
    action: 'the job goes on in a fresh enclave from its last checkpoint',
  });
}
