/** Whoever knows a session's public keys, and not its receipt key, changes nothing at the broker. */
import { readFileSync } from 'node:fs';
import type { NestExpressApplication } from '@nestjs/platform-express';
import request from 'supertest';
import { afterEach, describe, expect, it } from 'vitest';
import { encodeCanonical, fromHex, to0x, toBase64, toCbor } from '#attestation/base';
import { encodeJobSpec, encodeSessionEvidence, encodeTerms, type SessionEvidence } from '#attestation/records';
import { fakeAmd } from '#test/fake-amd';
import { evidenceBy, proved, reportedBy, testSession, type EvidenceOptions } from '#test/tiny-evidence';
import { tinyBrokerConfig, tinyJob } from '#test/tiny-job';
import { createAttestorApp, createBrokerApp } from './app.js';
import { accountOf } from './authorise.js';

const attestorTestSecret = new Uint8Array(32).fill(0x5b);
const attestor = accountOf({ signingSecret: attestorTestSecret });
const job = await tinyJob({ terms: { attestors: [attestor], needed: 1 } });
const own = await testSession(1);
const stranger = await testSession(2);
const running: NestExpressApplication[] = [];
afterEach(async () => {
  for (const app of running.splice(0)) await app.close();
});

async function serve(kind: 'broker' | 'attestor') {
  const { signingSecret, ...shared } = tinyBrokerConfig(job);
  const config =
    kind === 'broker'
      ? { ...shared, signingSecret }
      : { ...shared, attestOnly: true as const, signingSecret: attestorTestSecret };
  const app = config.attestOnly ? await createAttestorApp(config) : (await createBrokerApp(config)).app;
  running.push(app);
  await app.init();
  const http = request(app.getHttpServer());
  return {
    challenge: async () => {
      const { body } = await http.post('/v1/challenges').send({ jobId: to0x(job.jobId) });
      return fromHex((body as { nonce: string }).nonce);
    },
    post: (route: string, evidence: Uint8Array) =>
      http.post(route).send({
        spec: toBase64(encodeJobSpec(job.spec)),
        terms: toBase64(encodeTerms(job.terms)),
        evidence: toBase64(evidence),
      }),
    journal: () => readFileSync(config.journal, 'utf8'),
  };
}

/** A machine of the stranger's: another guest, or another vendor's, with the victim's binding in its REPORT_DATA. */
const machines: [string, EvidenceOptions][] = [
  ['genuine, of another launch', { report: { REPORT_ID: new Uint8Array(32).fill(0xee) } }],
  ['genuine, of another measurement', { report: { MEASUREMENT: new Uint8Array(48) } }],
  ['genuine, of a debug guest', { report: { POLICY: 0x30000n | (1n << 19n) } }],
  ['of another vendor', { vendor: fakeAmd('milan-other') }],
  ['without certificates', { certificates: [] }],
  ['with the victim’s REPORT_ID', {}],
];
const proofs: [string, (nonce: Uint8Array, options: EvidenceOptions) => Promise<Uint8Array>][] = [
  [
    'a proof by the stranger’s key',
    async (nonce, options) => encodeSessionEvidence(await proved(stranger, await reportedBy(own, nonce, options))),
  ],
  [
    'a proof of zeros',
    async (nonce, options) =>
      encodeSessionEvidence({ ...(await reportedBy(own, nonce, options)), version: 2, proof: new Uint8Array(64) }),
  ],
  [
    'the victim’s proof of other evidence',
    async (nonce, options) => {
      const { proof } = await evidenceBy(own, nonce, { report: { REPORT_ID: new Uint8Array(32).fill(1) } });
      return encodeSessionEvidence({ ...(await reportedBy(own, nonce, options)), version: 2, proof });
    },
  ],
  [
    'no proof',
    async (nonce, options) => encodeCanonical(toCbor({ ...(await reportedBy(own, nonce, options)), version: 2 })),
  ],
  [
    'the form of before, which had none',
    async (nonce, options) => encodeCanonical(toCbor({ ...(await reportedBy(own, nonce, options)), version: 1 })),
  ],
];
const routes: [string, 'broker' | 'attestor'][] = [
  ['/v1/releases', 'broker'],
  ['/v1/renewals', 'broker'],
  ['/v1/appraisals', 'attestor'],
];

describe('evidence without a proof by its receipt key', () => {
  it.each(routes)('N6 A-M1 changes nothing at %s of a %s, whatever machine made it', async (route, kind) => {
    const served = await serve(kind);
    const first = kind === 'broker' ? '/v1/releases' : route;
    const good = async (nonce: Uint8Array) => encodeSessionEvidence(await evidenceBy(own, nonce));
    expect((await served.post(first, await good(await served.challenge()))).status).toBe(200);
    const nonce = await served.challenge();
    const before = served.journal();
    for (const [machine, options] of machines) {
      for (const [what, make] of proofs) {
        const answer = await served.post(route, await make(nonce, options));
        expect([machine, what, answer.status]).toEqual([machine, what, answer.status === 400 ? 400 : 403]);
        expect((answer.body as { code: string }).code).toMatch(/^(EVIDENCE_PROOF|MESSAGE_SHAPE)$/);
      }
    }
    expect(served.journal()).toBe(before);
    expect((await served.post(route, await good(nonce))).status).toBe(200);
  });

  it('N6 A-M1 neither does evidence with a proof by keys of its own: it speaks of nobody else', async () => {
    const served = await serve('broker');
    const nonceOf = served.challenge;
    const good = async (nonce: Uint8Array) => encodeSessionEvidence(await evidenceBy(own, nonce));
    expect((await served.post('/v1/releases', await good(await nonceOf()))).status).toBe(200);
    const nonce = await nonceOf();
    for (const [, options] of machines) {
      const evidence: SessionEvidence = await evidenceBy(stranger, nonce, options);
      await served.post('/v1/releases', encodeSessionEvidence(evidence));
      await served.post('/v1/renewals', encodeSessionEvidence(evidence));
    }
    expect((await served.post('/v1/renewals', await good(nonce))).status).toBe(200);
  });
});
