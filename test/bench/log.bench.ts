/**
 * A transparency log on PostgreSQL with one witness, each a process of its own: entries come in at a given rate, and each
 * submitter waits for the proof that a quorum saw. Needs VERITRAIN_TEST_DATABASE_URL; submitters and database share the
 * machine. VERITRAIN_LOG_RATE: entries a second (520).
 */
import { createPrivateKey, sign } from 'node:crypto';
import { Agent, request } from 'node:http';
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { leafHash, makePublicEntry, parseLogProof, verifyLogProof } from '#attestation/log';
import { fetchCheckpoint } from '#libs/log';
import { logKeyOf } from '#test/log-keys';
import { startLogSite, unixNow } from '#test/log-processes';
import { issuerOf } from '#test/log-site';
import { createTestDatabase } from '../../apps/control-plane/test/test-database.js';
import type { BenchOptions, BenchResult } from './result.js';

/** Each may log 500 a second. */
const issuers = ['a.example', 'b.example', 'c.example', 'd.example'];
const bar = { perSecond: 500, p99Ms: 1000 };

export async function run(): Promise<BenchResult[]> {
  return measure(Number(process.env['VERITRAIN_LOG_RATE'] ?? 520), 15_000);
}

export async function short(_options: BenchOptions): Promise<BenchResult[]> {
  return (await measure(200, 400)).map(({ atLeast: _least, atMost: _most, holds: _holds, ...shown }) => shown);
}

async function measure(rate: number, count: number): Promise<BenchResult[]> {
  const serverUrl = process.env['VERITRAIN_TEST_DATABASE_URL'];
  if (serverUrl === undefined) return [];
  const database = await createTestDatabase(serverUrl);
  const site = await startLogSite(issuers, { databaseUrl: database.url, intervalMs: 200 });
  try {
    const warming = Math.floor(count / 10);
    const entries = await entriesOf(warming + count);
    const agent = new Agent({ keepAlive: true, maxSockets: 4000 });
    await offer(site.url, agent, entries.slice(0, warming), rate);
    const load = loadavg()[0]!;
    const began = performance.now();
    const answers = await offer(site.url, agent, entries.slice(warming), rate);
    const seconds = (performance.now() - began) / 1000;
    agent.destroy();
    const { checkpoint } = await fetchCheckpoint(site.url, site.policy);
    const indices = new Set(answers.map(({ text }) => parseLogProof(text).index));
    if (indices.size !== count || checkpoint.size !== warming + count) {
      throw new Error(`${indices.size} of ${count} entries, a tree of ${checkpoint.size}`);
    }
    for (let at = 0; at < count; at += Math.ceil(count / 50)) {
      const trusted = verifyLogProof(parseLogProof(answers[at]!.text), leafHash(entries[warming + at]!), site.policy);
      if (trusted.witnessedAt === null) throw new Error(`entry ${at} was answered before its witness`);
    }
    const times = answers.map(({ ms }) => ms).toSorted((a, b) => a - b);
    const p99 = times[Math.floor(0.99 * count)]!;
    const perSecond = count / seconds;
    return [
      {
        ...figure('entries with a witnessed proof', '1/s', count, [perSecond]),
        ...{ atLeast: bar.perSecond, holds: perSecond >= bar.perSecond },
      },
      figure('time from submission to a witnessed proof', 'ms', count, times),
      {
        ...figure('time from submission to a witnessed proof, 99th percentile', 'ms', count, [p99]),
        ...{ atMost: bar.p99Ms, holds: p99 <= bar.p99Ms },
      },
      figure('entries offered', '1/s', 1, [rate]),
      figure('load average of the machine before', '', 1, [load]),
    ];
  } finally {
    await site.stop();
    await database.drop();
  }
}

/** Signed by OpenSSL: the submitters share the machine with what is measured. */
async function entriesOf(count: number): Promise<Uint8Array[]> {
  const signers = issuers.map((name) => {
    const { secret } = logKeyOf(`issuer ${name}`);
    const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), secret]);
    const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    return { ...issuerOf(name), sign: (message: Uint8Array) => new Uint8Array(sign(null, message, key)) };
  });
  const at = unixNow();
  const entries = [];
  for (let index = 0; index < count; index++) {
    const body = { id: `policy ${index}`, digest: new Uint8Array(32), document: null, signers: [], validFrom: at };
    entries.push(await makePublicEntry(signers[index % signers.length]!, 'policy', body, at));
  }
  return entries;
}

/** @param rate  a second; who comes does not wait for who was before */
async function offer(url: string, agent: Agent, entries: readonly Uint8Array[], rate: number) {
  const began = performance.now();
  const answers = [];
  for (const [index, entry] of entries.entries()) {
    const due = began + (1000 * index) / rate;
    if (due > performance.now() + 1) await sleep(due - performance.now());
    answers.push(
      post(`${url}/v1/entries?wait=witnessed`, agent, entry).then((text) => ({ text, ms: performance.now() - due })),
    );
  }
  return Promise.all(answers);
}

/** A connection that is reset is asked for again, as submitters do: the same entry is no other, and its time goes on. */
function post(url: string, agent: Agent, body: Uint8Array, attempts = 5): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { agent, method: 'POST', headers: { 'content-type': 'application/cose' } },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () => {
          const text = Buffer.concat(parts).toString('utf8');
          if (response.statusCode === 200) resolve(text);
          else reject(new Error(`status ${response.statusCode}: ${text.slice(0, 300)}`));
        });
      },
    );
    sent.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET' && attempts > 1) resolve(post(url, agent, body, attempts - 1));
      else reject(error);
    });
    sent.end(body);
  });
}

function figure(name: string, unit: string, n: number, sorted: readonly number[]): BenchResult {
  return { name, unit, n, min: sorted[0]!, median: sorted[Math.floor(sorted.length / 2)]!, max: sorted.at(-1)! };
}
