/** A control plane for tests: embedded database of its own, a clock and a chain that the test moves. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClientProxyFactory, Transport, type ClientTCP } from '@nestjs/microservices';
import { firstValueFrom, timeout } from 'rxjs';
import request from 'supertest';
import { CollateralError } from '#attestation/base';
import { defaultCacheDirectory } from '#libs/persistence';
import type { BlockRef, ChainReader, EscrowEvent } from '#libs/settlement';
import { createLogger } from '#libs/telemetry';
import { pattern as patterns, protocolVersion, type Pattern, type Problem } from '#libs/wire';
import { Sweeper } from '../src/claims/sweeper.js';
import type { BootstrapKey, Config } from '../src/core/config/config.js';
import { Clock } from '../src/core/timing/clock.js';
import type { EvidenceAppraiser, EvidenceVerdict } from '../src/evidence/evidence-appraiser.js';
import { startControlPlane, type ControlPlane, type Replacements } from '../src/server.js';
import { EscrowWatcher } from '../src/settlement/watcher.js';
import { providers, receiptKey } from './job-fixture.js';

const keyOf = (id: string): string => `vt_${id}_test-secret-of-${id}-0123456789`;
const entries = {
  client: ['acme', 'client'],
  otherClient: ['globex', 'client'],
  operator: ['host', 'operator'],
  otherOperator: ['rival', 'operator'],
  reviewer: ['acme', 'reviewer'],
  otherReviewer: ['globex', 'reviewer'],
  admin: [undefined, 'admin'],
  tenantAdmin: ['acme', 'admin'],
  otherAdmin: ['globex', 'admin'],
} as const;
export type KeyName = keyof typeof entries;
export const keys = Object.fromEntries(Object.keys(entries).map((name) => [name, keyOf(name)])) as Record<
  KeyName,
  string
>;
const bootstrapKeys = Object.entries(entries).map(([name, [tenant, role]]): BootstrapKey => ({
  key: keyOf(name),
  ...(tenant === undefined ? {} : { tenant }),
  role,
  name,
  ...(role === 'operator' ? { provider: providers[name as keyof typeof providers] } : {}),
}));

class TestClock extends Clock {
  #now = Date.UTC(2026, 0, 1);

  override now(): Date {
    return new Date(this.#now);
  }

  pass(seconds: number): void {
    this.#now += 1000 * seconds;
  }
}

/** For rates: a slow machine lets no window pass. */
export class StillClock extends TestClock {
  override monotonic(): number {
    return 90_000;
  }
}

const nobody = `0x${'00'.repeat(20)}`;
const aWord = `0x${'01'.repeat(32)}`;

/** What events say where a test does not care. */
const unsaid: Readonly<Record<string, object>> = {
  JobOpened: { client: `0x${'11'.repeat(20)}`, provider: nobody, token: nobody },
  JobCommitted: { outcome: '0', root: aWord, delivery: aWord, sealer: nobody, keys: [], borders: [aWord, aWord] },
  JobEnded: { toProvider: '0', toClient: '0', toChallenger: '0', burnt: '0' },
};

/** A chain whose blocks the test writes, and takes back. */
class TestChain implements ChainReader {
  readonly contract = 'test';
  #blocks: { hash: string; events: { escrowId: string; name: string; data: Record<string, unknown> }[] }[] = [];
  #fork = 0;
  isAway = false;
  /** Happens once, after the next events were read. */
  duringEvents: (() => void) | null = null;

  constructor() {
    this.mine();
  }

  mine(...events: { escrowId: string; name: string; data: Record<string, unknown> }[]): void {
    this.#blocks.push({ hash: sha256(`block ${this.#fork} ${this.#blocks.length}`), events });
  }

  /** Forgets the newest blocks; what is mined next has other hashes. */
  reorganise(depth: number): void {
    this.#blocks = this.#blocks.slice(0, -depth);
    this.#fork += 1;
  }

  head(): Promise<BlockRef> {
    return this.answer(() => ({ number: this.#blocks.length - 1, hash: this.#blocks.at(-1)!.hash }));
  }

  block(number: number): Promise<BlockRef | null> {
    return this.answer(() => {
      const block = this.#blocks[number];
      return block === undefined ? null : { number, hash: block.hash };
    });
  }

  events(fromBlock: number, toBlock: number): Promise<EscrowEvent[]> {
    const answer = this.answer(() =>
      this.#blocks.flatMap(({ hash, events }, blockNumber) =>
        blockNumber < fromBlock || blockNumber > toBlock
          ? []
          : events.map(({ escrowId, name, data }, logIndex) => ({
              ...{ name, job: escrowId, args: { ...unsaid[name], ...data } as EscrowEvent['args'] },
              ...{ blockNumber, blockHash: hash, logIndex, txHash: sha256(`${hash} ${logIndex}`) },
            })),
      ),
    );
    this.duringEvents?.();
    this.duringEvents = null;
    return answer;
  }

  close(): void {}

  private answer<T>(make: () => T): Promise<T> {
    if (!this.isAway) return Promise.resolve(make());
    const detail = { expected: 'an answer', got: 'none', rule: 'test' };
    return Promise.reject(new CollateralError('CHAIN_UNREACHABLE', detail));
  }
}

/** Accepts every evidence that does not say `refused`, whatever it is; with a remark where it says `of no hardware`. */
export class TestAppraiser implements EvidenceAppraiser {
  policyDigest(policy: Uint8Array): Uint8Array {
    return new Uint8Array(createHash('sha256').update(policy).digest());
  }

  appraise({ evidence }: { evidence: Uint8Array }): Promise<EvidenceVerdict> {
    const isRefused = Buffer.from(evidence).includes('refused');
    const isSimulated = Buffer.from(evidence).includes('of no hardware');
    const check = { code: 'TEST_DEBUG', status: isRefused ? 'refused' : 'met', got: 'x', rule: 'no debugging' };
    const remark = { code: 'SIMULATED_HARDWARE', status: 'warned', got: 'x', rule: 'hardware' };
    const tier = isRefused ? 'contraindicated' : isSimulated ? 'warning' : 'affirming';
    const checks = [check, ...(isSimulated ? [remark] : [])];
    return Promise.resolve({ tier, checks, receiptKey: isRefused ? null : receiptKey, devices: [] });
  }
}

function sha256(text: string): string {
  return `0x${createHash('sha256').update(text).digest('hex')}`;
}

export interface TestPlane {
  readonly clock: TestClock;
  readonly chain: TestChain;
  readonly logs: string[];
  readonly dataDirectory: string;
  plane: ControlPlane;
  /** Stops and starts on the same data. */
  restart(): Promise<void>;
  /** REST as somebody. */
  as(who: KeyName | null): Rest;
  send<T>(pattern: Pattern, payload: object, who?: KeyName): Promise<T>;
  sweep(): Promise<void>;
  poll(): Promise<void>;
  stop(): Promise<void>;
}

let idempotency = 0;

interface Rest {
  get(path: string): request.Test;
  put(path: string, body: Uint8Array): request.Test;
  remove(path: string): request.Test;
  patch(path: string, body: Uint8Array, headers: Record<string, string>): request.Test;
  post(path: string, body: object, idempotencyKey?: string): request.Test;
}

const limits = {
  heartbeatSeconds: 5,
  leaseSeconds: 30,
  attemptsMax: 3,
  // Tests of leases move their clock themselves; the pauses have a test of their own.
  retryPauseSeconds: 0,
  trustProxy: null,
  highValueFromWei: 10n ** 24n,
  jobsWaitingMax: 20_000,
  jobsUnderWayMax: 2000,
  requestsPerMinute: 100_000,
  addressRequestsPerMinute: 100_000,
  streamsPerKeyMax: 2000,
  // A loaded machine that runs tests is no reason to refuse them.
  shedDelayMilliseconds: null,
  s3: null,
  log: null,
  corsOrigins: [],
  oidc: null,
  clientDatasetBytesMax: 2 ** 40,
  operatorBlobBytesMax: 2 ** 30,
};

export async function startTestPlane(changes: Partial<Config> = {}, replaced: Replacements = {}): Promise<TestPlane> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'veritrain-control-'));
  const clock = new TestClock();
  const chain = new TestChain();
  const logs: string[] = [];
  const logger = createLogger('test', 'debug', { write: (line: string) => void logs.push(line) });
  const config: Config = {
    http: { host: '127.0.0.1', port: 0 },
    dispatch: { host: '127.0.0.1', port: 0, tls: null },
    nats: null,
    dataDirectory,
    cacheDirectory: defaultCacheDirectory(),
    databaseUrl: null,
    databasePool: 4,
    bootstrapKeys,
    chain: {
      rpcUrl: 'http://127.0.0.1:1',
      contract: `0x${'cc'.repeat(20)}`,
      chainId: 31_337,
      confirmations: 2,
      startBlock: 0,
      pollMilliseconds: 600_000,
    },
    ...limits,
    webhookTargets: 'any',
    consoleDirectory: join(dataDirectory, 'no-console'),
    logLevel: 'debug',
    ...changes,
  };
  const parts = { clock, escrowReader: chain, appraiser: new TestAppraiser(), ...replaced };
  const start = (): Promise<ControlPlane> => startControlPlane(config, logger, parts);
  const test: TestPlane = {
    clock,
    chain,
    logs,
    dataDirectory,
    plane: await start(),
    restart: async () => {
      closeDispatch();
      await test.plane.close();
      test.plane = await start();
    },
    as: (who) => restAs(() => test.plane, who),
    send: async <T>(pattern: Pattern, payload: object, who: KeyName = 'operator') => {
      const said = { auth: keys[who], ...(pattern === patterns.nodeRegister ? { protocol: protocolVersion } : {}) };
      const answer = dispatch(test.plane.dispatchPort).send<T>(pattern, { ...said, ...payload });
      return firstValueFrom(answer.pipe(timeout(15_000)));
    },
    sweep: () => test.plane.app.get(Sweeper).sweep(),
    poll: () => test.plane.app.get(EscrowWatcher).poll(),
    stop: async () => {
      closeDispatch();
      await test.plane.close();
      rmSync(dataDirectory, { recursive: true, force: true });
    },
  };
  let client: ClientTCP | null = null;
  const closeDispatch = (): void => {
    void client?.close();
    client = null;
  };
  function dispatch(port: number): ClientTCP {
    client ??= ClientProxyFactory.create({
      transport: Transport.TCP,
      options: { host: '127.0.0.1', port },
    }) as ClientTCP;
    return client;
  }
  return test;
}

function restAs(plane: () => ControlPlane, who: KeyName | null): Rest {
  const signed = (test: request.Test): request.Test =>
    who === null ? test : test.set('authorization', `Bearer ${keys[who]}`);
  const server = () => request(plane().app.getHttpServer());
  return {
    get: (path) => signed(server().get(path)),
    patch: (path, body, headers) =>
      signed(server().patch(path))
        .set({ 'content-type': 'application/octet-stream', ...headers })
        .send(Buffer.from(body)),
    remove: (path) => signed(server().delete(path)),
    put: (path, body) =>
      signed(server().put(path)).set('content-type', 'application/octet-stream').send(Buffer.from(body)),
    post: (path, body, key = `test-${(idempotency += 1)}`) =>
      signed(server().post(path)).set('idempotency-key', key).send(body),
  };
}

/** Code and status of the problem that a call ends with; `ok` when it does not. */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'ok';
  } catch (error) {
    return (error as Problem).code ?? String(error);
  }
}
