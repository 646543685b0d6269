/**
 * What every client asks for its items: from disk while fresh, else from the service, once at a time per key. When the
 * service fails an older answer still serves, marked stale: verification judges its dates, not this library.
 */
import { CollateralError } from '#attestation/base';
import { AnswerCache, type CachedAnswer } from './cache.js';
import { Downloader, type DownloadRequest } from './download.js';
import { failure } from './failure.js';
import { systemPorts, type CollateralPorts } from './ports.js';

export interface StoreSettings {
  readonly directory: string;
  /** Never touch the network. */
  readonly offline?: boolean;
  /** Vendor origin to the origin that stands in for it, for example a caching proxy of the data centre. */
  readonly mirrors?: Readonly<Record<string, string>>;
}

export interface Item extends DownloadRequest {
  /** Names the answer, not the place it came from: (product, chip, TCB), (FMSPC, kind), (RIM id). */
  readonly key: string;
  /** Infinity for answers that never change; 0 for those that are never kept. */
  readonly freshForSeconds: number;
  /** Response headers to keep, lower case. */
  readonly headers?: readonly string[];
  /** Looks at an answer before it is kept. @throws CollateralError COLLATERAL_FORMAT */
  readonly check: (body: Uint8Array, headers: Readonly<Record<string, string>>) => void;
}

export interface Answer {
  /** For `forget`. */
  readonly key: string;
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  /** Unix milliseconds. */
  readonly fetchedAt: number;
  /** Older than the item's freshness, because the service could not be asked. */
  readonly stale: boolean;
}

export class CollateralStore {
  private readonly cache: AnswerCache;
  private readonly downloader: Downloader;
  private readonly inFlight = new Map<string, Promise<Answer>>();

  constructor(
    private readonly settings: StoreSettings,
    private readonly ports: CollateralPorts = systemPorts,
  ) {
    this.cache = new AnswerCache(settings.directory);
    this.downloader = new Downloader(ports);
  }

  /**
   * @throws CollateralError COLLATERAL_OFFLINE, COLLATERAL_FORMAT and those of `Downloader.download`
   * @throws ConfigurationError COLLATERAL_DIRECTORY
   */
  get(item: Item): Promise<Answer> {
    const running = this.inFlight.get(item.key);
    if (running !== undefined) return running;
    const started = this.find(item).finally(() => this.inFlight.delete(item.key));
    this.inFlight.set(item.key, started);
    return started;
  }

  /** Forgets an answer that verification did not accept, so that the next `get` asks the service again. */
  async forget(key: string): Promise<void> {
    await this.cache.remove(key);
  }

  private async find(item: Item): Promise<Answer> {
    const kept = await this.cache.read(item.key);
    const age = kept && this.ports.now() - kept.fetchedAt;
    if (kept !== undefined && age! >= 0 && age! < item.freshForSeconds * 1000) return { ...kept, stale: false };
    if (this.settings.offline === true) {
      if (kept !== undefined) return { ...kept, stale: true };
      throw failure('COLLATERAL_OFFLINE', item.key, 'not kept', hostOf(item.url), 'fetch it while online');
    }
    try {
      return await this.refresh(item);
    } catch (error) {
      if (kept !== undefined && error instanceof CollateralError) return { ...kept, stale: true };
      throw error;
    }
  }

  private async refresh(item: Item): Promise<Answer> {
    const { body, headers: received } = await this.downloader.download({ ...item, url: this.mirrored(item.url) });
    const headers = Object.fromEntries((item.headers ?? []).map((name) => [name, received.get(name) ?? '']));
    item.check(body, headers);
    const answer: CachedAnswer = { key: item.key, url: item.url, fetchedAt: this.ports.now(), headers, body };
    if (item.freshForSeconds > 0) await this.cache.write(answer);
    return { ...answer, stale: false };
  }

  private mirrored(url: string): string {
    const { origin } = new URL(url);
    const mirror = this.settings.mirrors?.[origin];
    return mirror === undefined ? url : mirror.replace(/\/$/, '') + url.slice(origin.length);
  }
}

function hostOf(url: string): string {
  return new URL(url).host;
}
