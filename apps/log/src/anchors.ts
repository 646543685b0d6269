/**
 * Checkpoints on chain, once an interval: the newest that a quorum of the witnesses saw, by whichever replica has the lease.
 * What the chain has decides, so that a start anew or another replica anchors nothing too early; and one that slept with its
 * lease over finds the nonce taken that it read before it asked.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Wallet } from 'ethers';
import { CodedError, to0x } from '#attestation/base';
import { parseCheckpoint, trustCheckpoint, type Checkpoint, type TrustPolicy } from '#attestation/log';
import type { Lease, LogService } from '#libs/log';
import { poll } from '#libs/process';
import { anchorCheckpoint, anchorOrigin, connect, newestLogAnchor, settledNonce } from '#libs/settlement';
import type { AnchorSettings } from './settings.js';

interface AnchorParts {
  readonly log: Pick<LogService, 'checkpoint'>;
  readonly policy: TrustPolicy;
  readonly lease: Pick<Lease, 'during'>;
  readonly onFailure: (code: string, why: string) => void;
}

/** Looks for each interval: an anchor comes late by so much of it at most. */
const looks = 24;
/** Of a busy log the newest checkpoint has its cosignatures for a part of each round alone. */
const seen = { everyMs: 50, withinMs: 10_000 };

export class Anchors {
  readonly #end = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(
    private readonly settings: AnchorSettings,
    private readonly parts: AnchorParts,
  ) {}

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#end.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    const pauseMs = (this.settings.everySeconds * 1000) / looks;
    while (!signal.aborted) {
      await this.#look().catch((error: unknown) => {
        const code = error instanceof CodedError ? error.code : 'LOG_ANCHOR';
        const why = error instanceof Error ? error.message : String(error);
        const action = error instanceof CodedError ? (error.detail.action ?? '') : '';
        this.parts.onFailure(code, `${why}; ${action && `${action}; `}looks again in ${pauseMs / 1000} s`);
      });
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    const { rpcUrl, chainId } = this.settings;
    const provider = connect(rpcUrl, chainId);
    try {
      await this.parts.lease.during(() => untilAborted(this.#end.signal, this.#anchor(provider)));
    } finally {
      provider.destroy();
    }
  }

  /** Anchors where the last anchor is an interval old, and the log has grown. */
  async #anchor(provider: ReturnType<typeof connect>): Promise<void> {
    const { contract, secret, everySeconds, feeMaxWei } = this.settings;
    const signer = new Wallet(to0x(secret), provider);
    const { origin: name, size: served } = parseCheckpoint(await this.parts.log.checkpoint());
    const origin = anchorOrigin(name);
    const nonce = await settledNonce(provider, signer.address);
    const { size, time } = await newestLogAnchor(provider, contract, { origin, sender: signer.address });
    if (size === served || time + everySeconds > Date.now() / 1000) return;
    const checkpoint = await this.#seenCheckpoint();
    if (checkpoint === null) return;
    const terms = {
      nonce,
      feeMaxWei,
      feeSetting: 'anchors.feeMaxWei, the most that one anchor may cost, in the settings of the log',
    };
    await anchorCheckpoint(signer, contract, { ...checkpoint, origin }, terms);
  }

  /** Null where no quorum saw the newest one by now: the next look comes. */
  #seenCheckpoint(): Promise<Checkpoint | null> {
    const { log, policy } = this.parts;
    const look = async (): Promise<Checkpoint | null> => {
      const { checkpoint, witnessedAt } = trustCheckpoint(parseCheckpoint(await log.checkpoint()), policy);
      return policy.quorum === null || witnessedAt !== null ? checkpoint : null;
    };
    return poll(look, { ...seen, goesOn: () => !this.#end.signal.aborted });
  }
}

/** A transaction that nobody takes is waited for no longer than the process runs: the next one looks at what became of it. */
async function untilAborted(signal: AbortSignal, work: Promise<void>): Promise<void> {
  const early = new AbortController();
  const end = once(signal, 'abort', { signal: early.signal }).catch(() => undefined);
  try {
    await Promise.race([work, end]);
  } finally {
    early.abort();
  }
}
