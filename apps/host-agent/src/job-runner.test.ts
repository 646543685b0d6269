import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  datasetManifestJson,
  encodeJobSpec,
  jobDigest,
  jobIdOf,
  Rejection,
  termsJson,
  toHex,
  type Terms,
} from '#attestation';
import type { EnclaveEvent } from '#enclave';
import type { EnclaveClient } from '#libs/enclave-channel';
import { pattern, type LeaseGrant } from '#libs/messaging';
import { chainId, contract, provider as account, tinyJob, type TinyJob } from '#test/tiny-job';
import { cancelLease, runLease, type LeaseInHand, type RunnerParts } from './job-runner.js';
import { openPendingEscrows } from './pending.js';

const word = new Uint8Array(32).fill(1);
const hex = (bytes: Uint8Array): string => `0x${toHex(bytes)}`;
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const hour = 3600;
const result: EnclaveEvent = {
  type: 'result',
  ciphertext: word,
  revealKey: word,
  borders: [word, word],
  run: { upTo: 1, outcome: 0, bordersRoot: word, last: word, delivery: word },
  seal: word,
  timings: { decryptMicros: 1, checkMicros: 1, trainMicros: 1, commitMicros: 1, signMicros: 1, sealMicros: 1 },
};

/** A broker that releases everything. */
const broker = createServer((request, response) => {
  request.resume();
  const text = (bytes: number, value = 1) => `0x${value.toString(16).padStart(2, '0').repeat(bytes)}`;
  const release = {
    sealedKey: 'AQ==',
    account: text(20),
    lease: { nonce: text(32), grantedAt: 1, notAfter: 86_400 },
    release: { job: text(32), enclaveKey: text(32), shardsDigest: text(32) },
    releaseSignature: text(65),
    appraisal: { key: text(20), policy: text(32), provider: text(20), evidence: text(32), notAfter: 1 },
    appraisalSignature: text(65),
    result: 'AQ==',
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
  const windows = { ...job.terms.windows, start: hour, compute: hour, ack: hour, reveal: hour, challenge: 0 };
  terms = { ...job.terms, provider: account, mode: 17, dutySelectors: [], token: new Uint8Array(20), windows };
  terms = { ...terms, price: 10n, stake: 5n, liveness: 1n };
});
afterAll(() => void broker.close());

let log: string[];
let sent: Record<string, unknown>[];
let onShard: () => void;
let parts: RunnerParts;
let isOwed: boolean;
beforeEach(() => {
  log = [];
  sent = [];
  onShard = () => undefined;
  isOwed = true;
  parts = {
    threads: 1,
    brokers: undefined,
    pending: openPendingEscrows(mkdtempSync(join(tmpdir(), 'veritrain-runner-'))),
    store: { shard: async () => word, getBlob: async () => word, putBlob: async () => hex(word) },
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
          livenessMaxBps: 2000,
          tokens: [],
          acceptProved: false,
          startMinSeconds: hour,
          computeMinSeconds: hour,
          ackMinSeconds: hour,
          revealMinSeconds: hour,
        },
      },
      async engage() {
        log.push(parts.pending.jobs().length === 1 ? 'engage' : 'engage without a record');
        return [];
      },
      isOwed: async () => isOwed,
      prolonging() {
        log.push('prolong');
        return this;
      },
      commit: async () => void log.push('commit'),
      hasCommitted: async () => false,
      collect: async () => 'wait',
      close: () => undefined,
    },
  };
});

const enclave: EnclaveClient = {
  async request(type) {
    log.push(type);
    if (type === 'shard') onShard();
    return new Uint8Array();
  },
  onEvent: (listener) => void setTimeout(() => listener(result), 5),
  onLost: () => undefined,
  close: () => void log.push('closed'),
};

function hand(change: Partial<Terms> = {}): LeaseInHand {
  const given = { ...terms, ...change };
  const grant: LeaseGrant = {
    leaseId: '11111111-1111-4111-8111-111111111111',
    fence: 1,
    expiresAt: 1,
    job: {
      jobId: hex(jobIdOf(job.spec)),
      escrowId: hex(jobDigest(given)),
      spec: base64(encodeJobSpec(job.spec)),
      terms: termsJson(given) as LeaseGrant['job']['terms'],
      policy: '',
      brokerUrl,
      datasetManifest: datasetManifestJson(job.dataset.manifest),
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
      'prolong',
      pattern.leaseDeliver,
      'commit',
    ]);
    expect(parts.pending.find(toHex(jobIdOf(job.spec)))).toMatchObject({ told: true, result: { revealKey: word } });
  });

  it('under terms that are not its own asks nobody and signs nothing, and is not tried again', async () => {
    await runLease(hand({ stake: 6n }), enclave, parts);
    expect(log).toEqual([pattern.leaseFail]);
    expect(sent[0]).toMatchObject({ code: 'HOST_TERMS_STAKE', retry: false });
    expect(parts.pending.jobs()).toEqual([]);
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
});
