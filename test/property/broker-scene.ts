/** A key broker over HTTP that knows one escrow, and for each of its routes a request that it takes. */
import { randomBytes } from 'node:crypto';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { sha256 } from '@noble/hashes/sha2.js';
import { equalBytes, fromHex, to0x, toBase64 } from '#attestation/base';
import {
  chunkListDigest,
  deliveryDigest,
  encodeJobSpec,
  encodeSessionEvidence,
  encodeTerms,
  escrowIdOf,
  parseSessionEvidence,
} from '#attestation/records';
import { differences } from '#test/differences';
import { evidenceBy, testSession, type TestSession } from '#test/tiny-evidence';
import { tinyBrokerConfig, tinyJob, type TinyJob } from '#test/tiny-job';
import { createBrokerApp } from '../../apps/key-broker/src/app.js';
import type { Escrows } from '../../apps/key-broker/src/escrow.js';
import { isBoundSame } from './bound.js';
import { openHttp, type HttpRequest } from './http-line.js';
import { maker, type RequestMaker, type RestRequest } from './rest-scene.js';

export interface BrokerScene {
  readonly makers: readonly RequestMaker[];
  stop(): Promise<void>;
}

const chunk = new Uint8Array(4096).fill(0x5e);
const keyCommit = new Uint8Array(32).fill(5);

type Asked = Readonly<Record<'spec' | 'terms' | 'evidence', string>>;

/** The same job and session. Certificates are signed by their vendor, and a host may add and order them. */
function asks(genuine: Asked): (body: unknown) => boolean {
  return (body) => {
    if (!isBoundSame(['spec', 'terms'], body, genuine)) return false;
    const [one, other] = [genuine, body as Asked].map(({ evidence }) =>
      parseSessionEvidence(new Uint8Array(Buffer.from(evidence, 'base64'))),
    );
    return differences(one, other).every((path) => path.startsWith('cpu.certificates'));
  };
}

/** A chain that holds the escrow of this job, with a committed run, and no other. */
function escrowOf({ terms }: TinyJob): Escrows {
  const delivery = deliveryDigest(chunkListDigest(chunk.length, [sha256(chunk)]), keyCommit);
  const own = escrowIdOf(terms);
  return {
    async stateOf(asked) {
      const state = equalBytes(escrowIdOf(asked), own) ? 'Open' : 'None';
      return { latest: state, confirmed: state };
    },
    async deliveryOf(asked) {
      if (!equalBytes(escrowIdOf(asked), own)) return null;
      return { state: 'Committed', delivery, blockNumber: 1, isConfirmed: true, txHash: '0x' };
    },
    close: () => undefined,
  };
}

/** @param escrow the chain, made of the one that is */
export async function brokerScene(escrow: (real: Escrows) => Escrows): Promise<BrokerScene> {
  const job = await tinyJob();
  const limits = { jobsPerDataSet: 1e6, jobsPerSession: 1e6, proxies: ['loopback'] };
  const config = tinyBrokerConfig(job, { escrow: escrow(escrowOf(job)), ...limits });
  const { app } = await createBrokerApp(config);
  await app.listen(0, '127.0.0.1');
  const http = openHttp();
  const ask: Ask = async (method, path, body) => {
    const { status, text: said } = await http.send(to(app, method, path), Buffer.from(JSON.stringify(body)));
    if (status >= 300) throw new Error(`${path}: ${said}`);
    return JSON.parse(said) as Readonly<Record<string, unknown>>;
  };
  return {
    makers: makersOf(app, job, ask),
    async stop() {
      http.close();
      await app.close();
    },
  };
}

function to(app: NestExpressApplication, method: string, path: string, type = 'application/json'): HttpRequest {
  const { port } = app.getHttpServer().address() as { port: number };
  return { port, method, path, headers: { 'content-type': type, 'x-forwarded-for': anyAddress() } };
}

/** What one address may ask for is bounded. */
function anyAddress(): string {
  return ['10', ...randomBytes(3)].join('.');
}

/** The keys of the next session. */
function freshSession(): Promise<TestSession> {
  return testSession(1 + (randomBytes(1)[0]! % 100), { settlementKey: new Uint8Array(randomBytes(20)) });
}

type Ask = (method: string, path: string, body: object) => Promise<Readonly<Record<string, unknown>>>;

function makersOf(app: NestExpressApplication, job: TinyJob, ask: Ask): readonly RequestMaker[] {
  const id = to0x(job.jobId);
  const ordered = { spec: toBase64(encodeJobSpec(job.spec)), terms: toBase64(encodeTerms(job.terms)) };
  const { terms } = ordered;
  const results = `/v1/results/${to0x(escrowIdOf(job.terms))}`;
  const offer = { terms, length: chunk.length, hashes: [to0x(sha256(chunk))], keyCommit: to0x(keyCommit) };
  const offered = (): Promise<unknown> => ask('PUT', results, offer);
  const of = (method: string, path: string, body: unknown, bound: RestRequest['bound']): RestRequest => ({
    ...to(app, method, path, body instanceof Uint8Array ? 'application/octet-stream' : 'application/json'),
    ...{ body, bound },
  });
  const asked = async (session: TestSession) => {
    const { nonce } = await ask('POST', '/v1/challenges', { jobId: id });
    const evidence = await evidenceBy(session, fromHex(String(nonce)));
    return { ...ordered, evidence: toBase64(encodeSessionEvidence(evidence)) };
  };
  return [
    maker('POST /v1/challenges', async () => of('POST', '/v1/challenges', { jobId: id }, [])),
    maker('POST /v1/releases', async () => {
      const asking = await asked(await freshSession());
      return of('POST', '/v1/releases', asking, asks(asking));
    }),
    maker('POST /v1/renewals', async () => {
      const session = await freshSession();
      await ask('POST', '/v1/releases', await asked(session));
      const asking = await asked(session);
      return of('POST', '/v1/renewals', asking, asks(asking));
    }),
    maker('POST /v1/prover-releases', async () => {
      const { nonce } = await ask('POST', '/v1/challenges', { jobId: id });
      const asking = { ...ordered, nonce, transportKey: to0x(keyCommit), signature: to0x(new Uint8Array(65).fill(1)) };
      return of('POST', '/v1/prover-releases', asking, Object.keys(asking));
    }),
    maker('PUT /v1/results/:job', async () => of('PUT', results, offer, Object.keys(offer))),
    maker('PUT /v1/results/:job/:index', async () => {
      await offered();
      return of('PUT', `${results}/0`, chunk, 'bytes');
    }),
    maker('POST /v1/availability', async () => {
      await offered();
      return of('POST', '/v1/availability', { terms }, ['terms']);
    }),
  ];
}
