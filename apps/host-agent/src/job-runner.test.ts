import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Rejection, to0x, toBase64, toHex } from '#attestation/base';
import {
  datasetManifestJson,
  dutySelectorOf,
  encodeJobSpec,
  escrowIdOf,
  hostSecretOf,
  jobIdOf,
  JobMode,
  specDigestOf,
  termsJson,
  type Terms,
} from '#attestation/records';
import { brokerPatience, type Clock } from '#libs/node';
import { planOf } from '#libs/proof';
import type { EnclaveClient } from '#libs/enclave-channel';
import { createLogger, watchNode } from '#libs/telemetry';
import { pattern, type LeaseGrant } from '#libs/wire';
import type { EnclaveEvent } from '#libs/wire/channel';
import { chainId, contract, provider as account, tinyJob, tinyManifest, type TinyJob } from '#test/tiny-job';
import { cancelLease, runLease, type LeaseInHand, type RunnerParts } from './job-runner.js';
import { openPendingEscrows } from './pending.js';

const noParts = { getPart: () => Promise.reject(new Error()), putParts: () => Promise.reject(new Error()) };

/** Unix seconds to which the broker's words hold. */
const until = Math.floor(Date.now() / 1000) + 86_400;

const word = new Uint8Array(32).fill(1);
const hour = 3600;
const result: EnclaveEvent = {
  type: 'result',
  ciphertext: word,
  revealKey: word,
  borders: [word, word],
  run: { upTo: 1, outcome: 0, bordersRoot: word, last: word, delivery: word, keys: word },
  keys: [word.slice(0, 20)],
  seal: word,
  evaluations: [],
  timings: { decryptMicros: 1, checkMicros: 1, trainMicros: 1, commitMicros: 1, signMicros: 1, sealMicros: 1 },
};

/** Time that passes only while somebody waits. */
let time = 0;
const clock: Clock = { now: () => time, sleep: async (milliseconds) => void (time += milliseconds) };

/** What the broker answers instead, while it does: status and problem. */
let instead: (path: string) => readonly [number, object] | null = () => null;

/** A broker that releases everything. */
const broker = createServer((request, response) => {
  request.resume();
  const other = instead(request.url!);
  if (other !== null) return void response.writeHead(other[0]).end(JSON.stringify(other[1]));
  const text = (bytes: number, value = 1) => `0x${value.toString(16).padStart(2, '0').repeat(bytes)}`;
  const named = { job: text(32), session: text(32), policy: text(32), evidence: text(32), notAfter: until };
  const release = {
    ...{ sealedKey: 'AQ==', account: text(20), result: 'AQ==', resultSignature: text(65), endorsements: 'AQ==' },
    release: {
      ...{ ...named, nonce: text(32), grantedAt: 1, provider: text(20), dataset: text(32), key: text(20) },
      grant: text(32),
    },
    releaseSignature: text(65),
  };
  response.end(JSON.stringify(request.url === '/v1/challenges' ? { nonce: text(32) } : release));
});
let brokerUrl: string;
let job: TinyJob;
let terms: Terms;
beforeAll(async () => {
  await new Promise<void>((resolve) => broker.listen(0, '127.0.0.1', resolve));
  brokerUrl = `http://127.0.0.1:${(broker.address() as { port: number }).port}`;
  job = await tinyJob();
  const windows = { ...job.terms.windows, start: hour, compute: hour, ack: hour, reveal: hour, challenge: 60 };
  terms = { ...job.terms, provider: account, mode: 17, dutySelectors: [], token: new Uint8Array(20), windows };
  terms = { ...terms, price: 10n, stake: 5n, liveness: 1n };
});
afterAll(() => void broker.close());

let log: string[];
let sent: Record<string, unknown>[];
let onShard: () => void;
let parts: RunnerParts;
let isOwed: boolean;
let hasStarted: boolean;
let checkPlan: () => Promise<void>;
let given: Record<string, unknown>;
beforeEach(() => {
  time = 0;
  instead = () => null;
  log = [];
  sent = [];
  onShard = () => undefined;
  isOwed = true;
  hasStarted = false;
  checkPlan = async () => undefined;
  given = {};
  parts = {
    threads: 1,
    brokers: undefined,
    attestors: {},
    hostRoot: word,
    patienceWithBroker: (goesOn) => brokerPatience({ withinMs: 900_000, goesOn, clock }),
    watch: watchNode([], 'host-agent', 'silent'),
    pending: openPendingEscrows(mkdtempSync(join(tmpdir(), 'veritrain-runner-'))),
    store: { ...noParts, shard: async () => word, getBlob: async () => word, putBlob: async () => to0x(word) },
    controlPlane: {
      async send(name, payload) {
        log.push(name);
        sent.push({ name, ...payload });
      },
      close: () => undefined,
    },
    provider: {
      own: {
        account,
        chainId,
        settlement: contract,
        limits: {
          priceMinWei: 1n,
          stakeMaxWei: 5n,
          answerMinWei: 0n,
          livenessMaxBps: 2000,
          tokens: [],
          acceptProved: false,
          startMinSeconds: hour,
          computeMinSeconds: hour,
          ackMinSeconds: hour,
          revealMinSeconds: hour,
          ...{ windowMaxSeconds: hour, computeMaxSeconds: hour, proofSeconds: 1 },
          ...{ acceptClientQuorum: true, independentBrokers: [] },
        },
        ...{ attestors: {}, snpPolicies: new Map() },
      },
      publishEstimate: async () => 1n,
      checkPlan: () => checkPlan(),
      hasStarted: async () => hasStarted,
      async engage() {
        log.push(parts.pending.jobs().length === 1 ? 'engage' : 'engage without a record');
        return [];
      },
      isOwed: async () => isOwed,
      commit: async () => void log.push('commit'),
      hasCommitted: async () => false,
      collect: async () => 'wait',
      keptStake: async () => [],
      close: () => undefined,
    },
  };
});

const enclave: EnclaveClient = {
  async request(type, body) {
    log.push(type);
    if (type === 'job') given = body;
    if (type === 'shard') onShard();
    return new Uint8Array();
  },
  onEvent: (listener) => void setTimeout(() => listener(result), 5),
  onLost: () => undefined,
  close: () => void log.push('closed'),
};

function hand(change: Partial<Terms> = {}, { spec, dataset }: TinyJob = job): LeaseInHand {
  const given = { ...terms, ...change };
  const grant: LeaseGrant = {
    leaseId: '11111111-1111-4111-8111-111111111111',
    fence: 1,
    expiresAt: 1,
    job: {
      jobId: to0x(jobIdOf(spec)),
      escrowId: to0x(escrowIdOf(given)),
      spec: toBase64(encodeJobSpec(spec)),
      terms: termsJson(given) as LeaseGrant['job']['terms'],
      policy: '',
      brokerUrl,
      datasetManifest: datasetManifestJson(dataset.manifest),
      resume: null,
    },
  };
  const node = { nodeId: grant.leaseId, heartbeatSeconds: 1, leaseSeconds: 30, protocol: 2 };
  return { grant, node, isCancelled: false, engaged: null };
}

describe('a lease', () => {
  it('asks, hands over the data, has it checked, and only then engages', async () => {
    await runLease(hand(), enclave, parts);
    const shards = job.dataset.manifest.shards.map(() => 'shard');
    expect(log).toEqual([
      'attest',
      pattern.leaseAttested,
      pattern.leaseKeyed,
      'job',
      ...shards,
      'train',
      'engage',
      pattern.leaseRunning,
      pattern.leaseDeliver,
      'commit',
    ]);
    expect(parts.pending.find(toHex(jobIdOf(job.spec)))).toMatchObject({ told: true, result: { revealKey: word } });
  });

  it('N11 gives the enclave the broker’s release and its own half of the key of checkpoints', async () => {
    const one = hand();
    await runLease(one, enclave, parts);
    expect(given).toMatchObject({ signature: new Uint8Array(65).fill(1), sealedKey: Uint8Array.of(1) });
    expect(given['release']).toMatchObject({ grantedAt: 1, notAfter: until, grant: word });
    expect(given['hostSecret']).toEqual(hostSecretOf(word, escrowIdOf(terms)));
    const attested = sent.find(({ name }) => name === pattern.leaseAttested);
    expect(attested).toMatchObject({ endorsements: 'AQ==' });
    const keyed = sent.find(({ name }) => name === pattern.leaseKeyed);
    expect(keyed?.['release']).toMatchObject({ releaseSignature: `0x${'01'.repeat(65)}`, appraisals: [] });
  });

  it('of a job that another session started binds its key before it trains', async () => {
    hasStarted = true;
    await runLease(hand(), enclave, parts);
    expect(log.filter((one) => one === 'engage' || one === 'train')).toEqual(['engage', 'train']);
  });

  it('S-H4 that needs attestors whom this host does not know asks nobody and signs nothing', async () => {
    await runLease(hand({ attestors: [new Uint8Array(20).fill(9)], needed: 1 }), enclave, parts);
    expect(log).toEqual([pattern.leaseFail]);
    expect(sent[0]).toMatchObject({ code: 'HOST_TERMS_ATTESTOR', retry: false });
  });

  it('under terms that are not its own asks nobody and signs nothing, and is not tried again', async () => {
    await runLease(hand({ stake: 6n }), enclave, parts);
    expect(log).toEqual([pattern.leaseFail]);
    expect(sent[0]).toMatchObject({ code: 'HOST_TERMS_STAKE', retry: false });
    expect(parts.pending.jobs()).toEqual([]);
  });

  it('whose proofs the contracts would refuse asks nobody and signs nothing', async () => {
    const older = new Rejection('HOST_TERMS_PLAN', { expected: 'a newer set', got: 'an older one', rule: 'test' });
    checkPlan = () => Promise.reject(older);
    await runLease(hand(), enclave, parts);
    expect(log).toEqual([pattern.leaseFail]);
    expect(sent[0]).toMatchObject({ code: 'HOST_TERMS_PLAN', retry: false });
  });

  it('of a job that owes proofs goes on with a result of before, and keeps the spec that says what is owed', async () => {
    const manifest = tinyManifest({ superblock: 4 });
    const plan = { profile: 'fast16', variant: 'separate' } as const;
    const { digest } = planOf({ manifest, ...plan });
    const proving = { ...plan, planDigest: digest };
    const proved = await tinyJob({ manifest, spec: { assurance: 'tee+zk', scheme: 'fxt-zk/1', proving } });
    Object.assign(parts.provider.own.limits, { acceptProved: true, windowMaxSeconds: 2 * hour });
    const owing = {
      ...{ mode: terms.mode | JobMode.full, dutySelectors: [dutySelectorOf(proved.spec)], planDigest: digest },
      ...{ specDigest: specDigestOf(proved.spec), initialWeights: proved.terms.initialWeights },
      windows: { ...terms.windows, prove: 2 * hour, provePer: hour },
    };
    const jobId = toHex(jobIdOf(proved.spec));
    await runLease(hand(owing, proved), enclave, parts);
    const { spec: _, ...former } = parts.pending.find(jobId)!;
    parts.pending.save(former);
    await runLease(hand(owing, proved), enclave, parts);
    expect(log.filter((one) => one === 'train')).toHaveLength(1);
    expect(parts.pending.find(jobId)?.spec).toEqual(encodeJobSpec(proved.spec));
  });

  it('that is cancelled before its escrow is engaged costs nothing', async () => {
    const cancelled = hand();
    onShard = () => void cancelLease(cancelled, enclave, parts);
    await runLease(cancelled, enclave, parts);
    expect(log).not.toContain('engage');
    expect(log).toContain('closed');
    expect(sent.at(-1)).toMatchObject({ name: pattern.leaseFail, code: 'LEASE_GIVEN_BACK', retry: true });
    expect(parts.pending.jobs()).toEqual([]);
  });

  it('that is cancelled afterwards goes on while a run is owed', async () => {
    const engaged = { ...hand(), engaged: terms };
    await cancelLease(engaged, enclave, parts);
    expect(log).toEqual([]);
    isOwed = false;
    await cancelLease(engaged, enclave, parts);
    expect(log).toEqual(['cancel']);
  });

  it('reports a failure in words that every message may carry', async () => {
    const bad = new Rejection('not a code', { expected: 'a\u0000b', got: 'c\nd', rule: 'test' });
    const failing = { ...enclave, request: () => Promise.reject(bad) };
    await runLease(hand(), failing, parts);
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({ name: pattern.leaseFail, code: 'HOST_INTERNAL', retry: false });
    expect(String(sent[0]!['detail'])).not.toMatch(/\p{Cc}/u);
  });

  it.each<[string, number, object]>([
    ['has no challenge left', 503, { code: 'NONCES_OUTSTANDING', expected: 'fewer', got: '16', rule: 'broker' }],
    ['restarts behind a proxy', 502, {}],
    ['cannot reach the chain', 503, { code: 'BROKER_CHAIN', expected: 'a block', got: 'none', rule: 'broker' }],
    ['has no collateral', 503, { code: 'COLLATERAL_UNREACHABLE', expected: 'a list', got: 'none', rule: 'broker' }],
    ['is asked too often', 429, { code: 'RATE_LIMITED', expected: 'less', got: 'more', rule: 'broker' }],
  ])('W-H1 waits two minutes for a broker that %s (%i), and goes on', async (_what, status, problem) => {
    for (const busy of ['/v1/challenges', '/v1/releases']) {
      [log, sent, time] = [[], [], 0];
      instead = (path) => (path === busy && time < 120_000 ? [status, problem] : null);
      await runLease(hand(), enclave, parts);
      expect(sent.filter(({ name }) => name === pattern.leaseFail)).toEqual([]);
      expect(log.at(-1)).toBe('commit');
      expect(time).toBeGreaterThanOrEqual(120_000);
      parts.pending.remove(toHex(jobIdOf(job.spec)));
    }
  });

  it.each(['NONCE_UNKNOWN', 'NONCE_EXPIRED'])(
    'W-H1 shows fresh evidence where the broker forgot its nonce (%s)',
    async (code) => {
      let left = 2;
      instead = (path) => (path === '/v1/releases' && left-- > 0 ? [403, { code }] : null);
      await runLease(hand(), enclave, parts);
      expect(log.slice(0, 4)).toEqual(['attest', 'attest', 'attest', pattern.leaseAttested]);
      expect(log.at(-1)).toBe('commit');
    },
  );

  it('is tried again where the clocks of broker and control plane are apart', async () => {
    const apart = new Rejection('RELEASE_TIME', { expected: 'a word for now', got: 'one of yesterday', rule: 'test' });
    const { send } = parts.controlPlane;
    const controlPlane: RunnerParts['controlPlane'] = {
      ...parts.controlPlane,
      send: (name, payload) => (name === pattern.leaseKeyed ? Promise.reject(apart) : send(name, payload)),
    };
    await runLease(hand(), enclave, { ...parts, controlPlane });
    expect(sent.at(-1)).toMatchObject({ name: pattern.leaseFail, code: 'RELEASE_TIME', retry: true });
  });

  it('W-H1 is given back once nobody waits for it, and fails with the broker’s own code when its time is used', async () => {
    instead = () => [503, { code: 'NONCES_OUTSTANDING', expected: 'fewer', got: '16', rule: 'broker' }];
    await runLease(hand(), enclave, parts);
    expect(sent).toEqual([
      expect.objectContaining({ name: pattern.leaseFail, code: 'NONCES_OUTSTANDING', retry: true }),
    ]);
    expect(time).toBeGreaterThan(880_000);
    [sent, time] = [[], 0];
    const cancelled = hand();
    const stopped: Clock = { ...clock, sleep: async (ms) => (cancelled.isCancelled = (time += ms) > 30_000) };
    const patienceWithBroker: RunnerParts['patienceWithBroker'] = (goesOn) =>
      brokerPatience({ withinMs: 900_000, goesOn, clock: stopped });
    await runLease(cancelled, enclave, { ...parts, patienceWithBroker });
    expect(sent).toEqual([expect.objectContaining({ code: 'LEASE_GIVEN_BACK' })]);
    expect(time).toBeLessThan(32_000);
  });

  it('W-M9 leaves a line and a count for every step of its life, and says how it ended', async () => {
    const lines: Record<string, unknown>[] = [];
    const sink = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
    const watch = watchNode([], 'host-agent', 'info', createLogger('host-agent', 'info', sink));
    await runLease(hand(), enclave, { ...parts, watch });
    expect(lines.map(({ msg }) => msg)).toEqual([
      'lease-taken',
      'keyed',
      'engaged',
      'trained',
      'delivered',
      'lease-ended',
    ]);
    const jobId = to0x(jobIdOf(job.spec));
    for (const line of lines) expect(line).toMatchObject({ level: 30, service: 'host-agent', job: jobId });
    expect(lines.at(-1)).toMatchObject({ code: null, fence: 1 });
    await runLease(hand({ stake: 6n }), enclave, { ...parts, watch });
    expect(lines.at(-1)).toMatchObject({ msg: 'lease-ended', code: 'HOST_TERMS_STAKE' });
    const metrics = await watch.registry.metrics();
    expect(metrics).toContain('veritrain_node_events_total{event="lease-taken"} 2');
    expect(metrics).toContain('veritrain_node_events_total{event="delivered"} 1');
    expect(metrics).toContain('veritrain_node_failures_total{what="lease"} 1');
  });
});
