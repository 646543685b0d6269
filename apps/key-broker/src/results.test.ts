/** Whoever says that a result can be had has it and serves it. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NestExpressApplication } from '@nestjs/platform-express';
import request from 'supertest';
import { afterEach, describe, expect, it } from 'vitest';
import { fromHex, recoverAddress, to0x } from '#attestation/base';
import {
  availabilityDigest,
  chunkBytes,
  chunksOf,
  ciphertextDigest,
  deliveryDigest,
  domainSeparator,
  encodeTerms,
  escrowIdOf,
  keyCommitment,
  type Terms,
} from '#attestation/records';
import type { JobState } from '#libs/settlement';
import { chainId, contract, escrowThatIs, tinyAt, tinyBrokerConfig, tinyJob } from '#test/tiny-job';
import { createAttestorApp, createBrokerApp } from './app.js';
import { accountOf } from './authorise.js';
import type { BrokerConfig } from './config.js';
import { createParts } from './parts.js';

const attestorTestSecret = new Uint8Array(32).fill(0x5b);
const attestor = accountOf({ signingSecret: attestorTestSecret });
const job = await tinyJob({ terms: { attestors: [attestor], needed: 1 } });
const escrow = to0x(escrowIdOf(job.terms));
const ciphertext = Uint8Array.from({ length: chunkBytes + 1000 }, (_, at) => at % 251);
const chunks = chunksOf(ciphertext);
const keyCommit = keyCommitment(new Uint8Array(32).fill(3));
const delivery = deliveryDigest(ciphertextDigest(ciphertext), keyCommit);
const committed = escrowThatIs('Committed', 'Committed', delivery);
const hashOf = (bytes: Uint8Array): string => `0x${createHash('sha256').update(bytes).digest('hex')}`;
const day = 86_400;

const offerOf = (bytes = ciphertext, terms: Partial<Terms> = {}) => ({
  terms: Buffer.from(encodeTerms({ ...job.terms, ...terms })).toString('base64'),
  length: bytes.length,
  hashes: chunksOf(bytes).map(hashOf),
  keyCommit: to0x(keyCommit),
});

const running: NestExpressApplication[] = [];
afterEach(async () => {
  for (const app of running.splice(0)) await app.close();
});

async function serve(changes: Partial<BrokerConfig> = {}, kind: 'broker' | 'attestor' = 'broker') {
  const config = tinyBrokerConfig(job, { escrow: committed, ...changes });
  const app =
    kind === 'broker'
      ? (await createBrokerApp(config)).app
      : await createAttestorApp({ ...config, attestOnly: true, signingSecret: attestorTestSecret });
  running.push(app);
  await app.init();
  const http = request(app.getHttpServer());
  return {
    config,
    http,
    offer: (body: object = offerOf(), to = escrow) => http.put(`/v1/results/${to}`).send(body),
    put: (index: number | string, bytes: Uint8Array) =>
      http
        .put(`/v1/results/${escrow}/${index}`)
        .set('content-type', 'application/octet-stream')
        .send(Buffer.from(bytes)),
    attest: () => http.post('/v1/availability').send({ terms: offerOf().terms }),
    get: (index: number | string) => http.get(`/v1/results/${escrow}/${index}`).responseType('blob'),
  };
}

describe('S-H3 a result', () => {
  it.each(['broker', 'attestor'] as const)(
    'S-H3 is signed for by a %s when all of it is on its disk, and anyone fetches it',
    async (kind) => {
      const { offer, put, attest, get, http } = await serve({}, kind);
      expect((await offer()).body).toMatchObject({ missing: [0, 1] });
      expect((await attest()).body).toMatchObject({ code: 'BROKER_RESULT_INCOMPLETE' });
      await put(1, chunks[1]!);
      expect((await attest()).body).toMatchObject({ code: 'BROKER_RESULT_INCOMPLETE', got: 'without 0' });
      expect((await put(0, chunks[0]!)).body).toMatchObject({ missing: [] });
      const { body } = (await attest()) as { body: { signature: string; account: string; until: number } };
      const domain = domainSeparator({ chainId, verifyingContract: contract });
      const digest = availabilityDigest(domain, escrowIdOf(job.terms), ciphertextDigest(ciphertext), body.until);
      expect(to0x(recoverAddress(digest, fromHex(body.signature)))).toBe(body.account);
      expect(body.account).toBe(to0x(kind === 'attestor' ? attestor : job.terms.keyBroker));
      expect(body.until).toBeGreaterThanOrEqual(Date.now() / 1000 + 29 * day);
      const shown = (await http.get(`/v1/results/${escrow}`)).body as { hashes: string[]; length: number };
      const parts = await Promise.all(shown.hashes.map(async (_, index) => (await get(index)).body as Buffer));
      expect(Buffer.concat(parts).equals(ciphertext)).toBe(true);
      const range = await get(0).set('range', 'bytes=10-19');
      expect([range.status, [...(range.body as Buffer)]]).toEqual([206, [...chunks[0]!.subarray(10, 20)]]);
    },
  );

  it('S-H3 is served, and signed for, past a restart', async () => {
    const { config, offer, put } = await serve();
    await offer();
    for (const [index, chunk] of chunks.entries()) await put(index, chunk);
    const { attest, get } = await serve(config);
    expect((await attest()).status).toBe(200);
    expect(hashOf((await get(1)).body as Buffer)).toBe(hashOf(chunks[1]!));
  });

  it('S-H3 is not signed for when a piece was lost or changed on disk', async () => {
    const { config, offer, put, attest } = await serve();
    await offer();
    for (const [index, chunk] of chunks.entries()) await put(index, chunk);
    const folder = join(config.results, escrow.slice(2));
    writeFileSync(join(folder, '1.chunk'), new Uint8Array(1000));
    expect((await attest()).body).toMatchObject({ code: 'BROKER_RESULT_INCOMPLETE' });
    rmSync(join(folder, '1.chunk'));
    expect((await attest()).body).toMatchObject({ code: 'BROKER_RESULT_INCOMPLETE', got: 'without 1' });
    expect(readFileSync(config.journal, 'utf8')).toBe('');
  });

  it('S-H3 is signed for again as it was, whoever asks, without a line, a read piece or a question to the chain', async () => {
    const asked = { chain: 0 };
    const stateOf: typeof committed.stateOf = async (terms) => {
      asked.chain += 1;
      return committed.stateOf(terms);
    };
    const config = tinyBrokerConfig(job, { escrow: { ...committed, stateOf } });
    const { results } = await createParts(config);
    const { terms: base64, ...offered } = offerOf();
    const terms = new Uint8Array(Buffer.from(base64, 'base64'));
    await results.offer({ job: escrow, ...offered, terms }, tinyAt);
    for (const [index, chunk] of chunks.entries()) results.take(escrow, index, chunk);
    const lines = () => readFileSync(config.journal, 'utf8').trimEnd().split('\n').length;
    const first = await Promise.all(Array.from({ length: 10 }, () => results.attest(terms, tinyAt)));
    // Another of the same length: it is not read again.
    writeFileSync(join(config.results, escrow.slice(2), '1.chunk'), new Uint8Array(1000));
    for (let hour = 0; hour <= 24; hour++) first.push(await results.attest(terms, tinyAt + hour * 3600));
    expect(new Set(first.map(({ signature, until }) => `${until} ${to0x(signature)}`)).size).toBe(1);
    expect([lines(), asked.chain]).toEqual([1, 10]);
    await expect(results.attest(terms, tinyAt + day + 1)).rejects.toThrow('BROKER_RESULT_INCOMPLETE');
    results.take(escrow, 1, chunks[1]!);
    expect((await results.attest(terms, tinyAt + day + 1)).until).toBe(tinyAt + 31 * day + 1);
    expect(lines()).toBe(2);
  });

  const other = new Uint8Array(20).fill(0xee);
  const state = (latest: JobState) => ({ escrow: escrowThatIs(latest, latest, delivery) });
  it.each<[number, string, string, Partial<BrokerConfig>, object]>([
    [403, 'BROKER_ESCROW', 'an escrow that is not committed', state('Started'), offerOf()],
    [403, 'BROKER_ESCROW', 'an escrow that nobody opened', state('None'), offerOf()],
    [403, 'BROKER_ESCROW', 'terms of another escrow', {}, offerOf(ciphertext, { price: 7n })],
    [403, 'BROKER_ACCOUNT', 'terms that name another broker', {}, offerOf(ciphertext, { keyBroker: other })],
    [403, 'BROKER_CLIENT', 'a client that nobody named', { clients: new Set() }, offerOf()],
    [403, 'BROKER_DELIVERY', 'another ciphertext', {}, offerOf(ciphertext.subarray(1))],
    [403, 'BROKER_DELIVERY', 'another key', {}, { ...offerOf(), keyCommit: `0x${'00'.repeat(32)}` }],
    [400, 'DELIVERY_CHUNKS', 'a list too short', {}, { ...offerOf(), hashes: [hashOf(chunks[0]!)] }],
    [400, 'REQUEST_MALFORMED', 'too many chunks', {}, { ...offerOf(), hashes: Array(172).fill(hashOf(ciphertext)) }],
    [503, 'BROKER_RESULTS', 'more than the disk is to hold', { resultsBytesMax: 1000 }, offerOf()],
  ])('S-H3 is refused with %i %s for %s', async (status, code, _, changes, body) => {
    const { offer, config } = await serve(changes);
    const answer = await offer(body);
    expect([answer.status, (answer.body as { code: string }).code]).toEqual([status, code]);
    expect(() => readdirSync(config.results)).toThrow('ENOENT');
  });

  it.each<[number, string, string, number | string, Uint8Array]>([
    [403, 'BROKER_CHUNK', 'other bytes', 0, new Uint8Array(chunkBytes)],
    [403, 'BROKER_CHUNK', 'the bytes of another place', 1, chunks[0]!],
    [403, 'BROKER_CHUNK', 'a piece cut short', 0, chunks[0]!.subarray(1)],
    [404, 'BROKER_RESULT_UNKNOWN', 'a place behind the last', 2, chunks[0]!],
    [400, 'REQUEST_MALFORMED', 'no place', '../0', chunks[0]!],
    [400, 'REQUEST_MALFORMED', 'a place in other digits', '01', chunks[0]!],
    [413, 'REQUEST_MALFORMED', 'more than a piece', 0, new Uint8Array(chunkBytes + 1)],
  ])('S-H3 a piece is refused with %i %s for %s', async (status, code, _, index, bytes) => {
    const { offer, put } = await serve();
    await offer();
    const answer = await put(typeof index === 'string' ? encodeURIComponent(index) : index, bytes);
    expect([answer.status, (answer.body as { code: string }).code]).toEqual([status, code]);
  });

  it('S-H3 a piece of what nobody offered is refused', async () => {
    const { put, get, attest } = await serve();
    for (const answer of [await put(0, chunks[0]!), await get(0), await attest()]) expect(answer.status).toBe(404);
  });

  it('S-H3 is kept until 30 days after the end of its escrow', async () => {
    const now = { state: 'Committed' as JobState };
    const stateOf = async () => ({ latest: now.state, confirmed: now.state });
    const { results } = await createParts(tinyBrokerConfig(job, { escrow: { ...committed, stateOf } }));
    const { terms, ...offered } = offerOf();
    await results.offer({ job: escrow, ...offered, terms: Buffer.from(terms, 'base64') }, tinyAt);
    await results.sweep(tinyAt + 300 * day);
    results.find(escrow);
    now.state = 'Settled';
    await results.sweep(tinyAt + 301 * day);
    await results.sweep(tinyAt + 330 * day);
    results.find(escrow);
    await results.sweep(tinyAt + 331 * day + 1);
    expect(() => results.find(escrow)).toThrow('BROKER_RESULT_UNKNOWN');
  });
});
