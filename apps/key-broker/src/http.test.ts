/** The broker as a server: what it tells its operator, what it lets an address do, how long a release takes. */
import { readFileSync, writeFileSync } from 'node:fs';
import { request as startRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { NestExpressApplication } from '@nestjs/platform-express';
import request from 'supertest';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { CollateralError, fromHex, to0x, toBase64 } from '#attestation/base';
import { encodeJobSpec, encodeSessionEvidence, encodeTerms } from '#attestation/records';
import { evidenceBy, testSession } from '#test/tiny-evidence';
import { escrowThatIs, tinyAt, tinyBroker, tinyBrokerConfig, tinyJob } from '#test/tiny-job';
import { createBrokerApp } from './app.js';
import type { BrokerConfig } from './config.js';

const job = await tinyJob();
const own = await testSession();
const running: NestExpressApplication[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const app of running.splice(0)) await app.close();
});

async function serve(changes: Partial<BrokerConfig> = {}) {
  const { app } = await createBrokerApp(tinyBrokerConfig(job, changes));
  running.push(app);
  await app.listen(0, '127.0.0.1');
  const http = request(app.getHttpServer());
  const challenge = (jobId = job.jobId) => http.post('/v1/challenges').send({ jobId: to0x(jobId) });
  return {
    http,
    port: (app.getHttpServer().address() as AddressInfo).port,
    challenge,
    release: async () => {
      const { nonce } = (await challenge()).body as { nonce: string };
      const evidence = toBase64(encodeSessionEvidence(await evidenceBy(own, fromHex(nonce))));
      const body = { spec: toBase64(encodeJobSpec(job.spec)), terms: toBase64(encodeTerms(job.terms)), evidence };
      const started = performance.now();
      const answer = await http.post('/v1/releases').send(body);
      return { answer, milliseconds: performance.now() - started };
    },
  };
}

describe('the broker over HTTP', () => {
  it('W-H1 gives a host its challenge, and its key, after any number of requests without a key', async () => {
    const { challenge, release } = await serve();
    for (let round = 0; round < 20; round++) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => challenge()));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    }
    expect((await release()).answer.status).toBe(200);
  });

  it('W-H1 answers an address that asks for too many decisions, and says when to come again', async () => {
    const { http, challenge } = await serve();
    // However slow this machine is, no time passes.
    vi.spyOn(performance, 'now').mockReturnValue(1000);
    const answers = await Promise.all(
      Array.from({ length: 245 }, () => http.post('/v1/releases').set('content-type', 'application/json').send('{}')),
    );
    const limited = answers.filter(({ status }) => status === 429);
    expect(limited).toHaveLength(5);
    expect(limited[0]!.headers['retry-after']).toMatch(/^[1-9]$/);
    expect(limited[0]!.body).toMatchObject({ code: 'RATE_LIMITED' });
    expect((await challenge()).status).toBe(201);
  });

  it('counts a path in other letters, and what is no route, against the rate of its address', async () => {
    const { http } = await serve();
    vi.spyOn(performance, 'now').mockReturnValue(1000);
    const result = `/results/0x${'00'.repeat(32)}`;
    const limitedOf = async (count: number, path: (at: number) => string) => {
      const answers = await Promise.all(Array.from({ length: count }, (_, at) => http.get(path(at))));
      return answers.filter(({ status }) => status === 429).length;
    };
    expect(await limitedOf(702, (at) => (at % 2 === 0 ? '/v1' : '/V1') + result)).toBe(2);
    expect(await limitedOf(242, (at) => ['/nothing', '/metrics', '/HEALTH/ready'][at % 3]!)).toBe(2);
    expect((await http.get('/health/live')).status).toBe(200);
  });

  it('W-H3 parses no more of a stranger’s body than its route can mean', async () => {
    const parse = vi.spyOn(JSON, 'parse');
    const longest = () => Math.max(0, ...parse.mock.calls.map(([text]) => text.length));
    const { http, release } = await serve();
    const hostile = `{"a":[${'[],'.repeat(600_000)}[]]}`;
    const send = (path: string, body: string) => http.post(path).set('content-type', 'application/json').send(body);
    expect((await send('/v1/challenges', hostile)).status).toBe(413);
    expect((await send('/v1/releases', hostile)).body).toMatchObject({ code: 'REQUEST_MALFORMED', status: 400 });
    expect((await send('/nothing', hostile)).status).toBe(404);
    expect(
      (
        await http
          .put(`/v1/results/0x${'00'.repeat(32)}`)
          .set('content-type', 'application/json')
          .send(hostile)
      ).status,
    ).toBe(413);
    expect(longest()).toBeLessThan(100_000);
    expect((await release()).answer.status).toBe(200);
  });

  it('W-H3 holds so many bytes of one address at once, and lets others pass', async () => {
    const { http, challenge, release, port } = await serve();
    const headers = { 'content-type': 'application/json', 'content-length': '1900000' };
    const slow = () => {
      const call = startRequest({ port, host: '127.0.0.1', method: 'POST', path: '/v1/releases', headers });
      call.on('error', () => undefined).write('{');
      return call;
    };
    const calls = Array.from({ length: 8 }, slow);
    const full = () =>
      http
        .post('/v1/releases')
        .set('content-type', 'application/json')
        .send({ spec: 'A'.repeat(1_800_000) });
    await expect.poll(async () => (await full()).body).toMatchObject({ code: 'RATE_LIMITED', status: 429 });
    expect((await challenge()).status).toBe(201);
    for (const call of calls) call.destroy();
    await expect.poll(async () => (await full()).status).toBe(400);
    expect((await release()).answer.status).toBe(200);
  });

  it('W-L1 does not name its framework, and lets nothing be sniffed or stored', async () => {
    const { http, challenge } = await serve();
    for (const { headers } of [await challenge(), await http.get('/health/live'), await http.get('/nothing')]) {
      expect(headers).not.toHaveProperty('x-powered-by');
      expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    }
  });

  it('W-M9 counts decisions by outcome and requests by route', async () => {
    const { http, release } = await serve();
    await release();
    await http.post('/v1/releases').send({});
    const { text, headers } = await http.get('/metrics');
    expect(headers['content-type']).toContain('text/plain');
    expect(text).toMatch(/veritrain_broker_decision_seconds_count\{kind="release",outcome="ok"\} 1/);
    expect(text).toMatch(/veritrain_broker_requests_total\{method="POST",route="\/v1\/releases",status="200"\} 1/);
  });

  it('W-M9 is ready while journal, settings and chain are', async () => {
    const { http } = await serve();
    expect((await http.get('/health/ready')).status).toBe(200);
    const away = () =>
      Promise.reject(new CollateralError('CHAIN_UNREACHABLE', { expected: 'a chain', got: 'none', rule: '' }));
    const lost = await serve({ escrow: { ...escrowThatIs('Open'), stateOf: away } });
    const answer = await lost.http.get('/health/ready');
    expect([answer.status, (answer.body as { code: string }).code]).toEqual([503, 'CHAIN_UNREACHABLE']);
    const config = tinyBrokerConfig(job);
    const cut = await serve(config);
    await cut.release();
    writeFileSync(config.journal, '');
    expect((await cut.http.get('/health/ready')).body).toMatchObject({ code: 'BROKER_JOURNAL' });
    expect((await cut.release()).answer.body).toMatchObject({ code: 'BROKER_JOURNAL' });
  });

  it('reads journal, settings and chain once for all who ask whether it is ready', async () => {
    const read = { collateral: 0, chain: 0 };
    const made = tinyBrokerConfig(job);
    const { http } = await serve({
      ...made,
      collateral: () => {
        read.collateral += 1;
        return made.collateral();
      },
      escrow: {
        ...made.escrow,
        stateOf: (terms) => {
          read.chain += 1;
          return made.escrow.stateOf(terms);
        },
      },
    });
    const clock = vi.spyOn(performance, 'now').mockReturnValue(1000);
    const ask = async (count: number) => {
      const answers = await Promise.all(Array.from({ length: count }, () => http.get('/health/ready')));
      expect(answers.every(({ status }) => status === 200)).toBe(true);
    };
    await ask(20);
    await ask(20);
    expect(read).toEqual({ collateral: 1, chain: 1 });
    clock.mockReturnValue(4000);
    await ask(20);
    expect(read).toEqual({ collateral: 2, chain: 2 });
  });

  it('A-M7 does not start over a journal with a line taken out, which would release what was used up', async () => {
    const limits = { jobsPerDataSet: 2 };
    const parties = await tinyBroker(job, limits);
    for (const [at, decision] of ['released', 'released', 'released'].entries()) {
      const ids = { dataset: to0x(job.spec.dataset.id), jobId: to0x(new Uint8Array(32).fill(at)) };
      parties.journal.append({ at: tinyAt, decision, ...ids });
    }
    const { config } = parties;
    const lines = readFileSync(config.journal, 'utf8').trimEnd().split('\n');
    writeFileSync(config.journal, `${[lines[0]!, lines[2]!].join('\n')}\n`);
    await expect(createBrokerApp(config)).rejects.toMatchObject({
      code: 'BROKER_JOURNAL_CUT',
      family: 'configuration',
    });
  });

  it('takes no longer to release a key with a journal of many lines', async () => {
    const served = await Promise.all(
      [0, 2000].map(async (lines) => {
        const config = tinyBrokerConfig(job);
        const { journal } = await tinyBroker(job, config);
        const ids = (at: number) => ({ dataset: '0x01', jobId: to0x(new Uint8Array(32).fill(at & 255)) });
        for (let at = 0; at < lines; at++) journal.append({ at: tinyAt, decision: 'released', ...ids(at) });
        const { release } = await serve(config);
        return { release, least: Infinity };
      }),
    );
    for (let round = 0; round < 12; round++) {
      for (const one of served) {
        const { answer, milliseconds } = await one.release();
        expect(answer.status).toBe(200);
        one.least = Math.min(one.least, milliseconds);
      }
    }
    const [few, many] = served.map(({ least }) => least);
    process.stdout.write(
      `key release, least of twelve: ${few!.toFixed(1)} ms, ${many!.toFixed(1)} ms with 2,000 lines\n`,
    );
    // In turns, the least of each: what else the machine does slows both alike.
    expect(many! / few!).toBeLessThan(4);
  });
});
