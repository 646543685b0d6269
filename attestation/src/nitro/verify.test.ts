import { verify as nodeVerify, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Encoder } from 'cbor-x';
import { describe, expect, it } from 'vitest';
import { fakeNitro, fakeNitroAt, type FakeNitroOptions } from '#test/fake-nitro';
import { readSign1 } from '../base/cose.js';
import { tierOf } from '../check/checks.js';
import { appraiseNitro, neutralNitroPolicy, type NitroPolicy } from './policy.js';
import { nitroRootSpkiSha256, verifyNitro, type NitroRequest } from './verify.js';

const vectors = process.env['VERITRAIN_VECTORS'] ?? '../shared/vectors';

async function judge(request: NitroRequest, policy: NitroPolicy = neutralNitroPolicy) {
  const verified = await verifyNitro(request);
  expect(verified.claims === undefined).toBe(verified.authenticity !== 'authentic');
  const checks = [...verified.checks, ...(verified.claims ? appraiseNitro(verified.claims, policy, request.at) : [])];
  const failed = checks
    .filter(({ status }) => status !== 'met' && status !== 'not-checked')
    .map(({ code, status }) => `${code} ${status}`);
  return { authenticity: verified.authenticity, tier: tierOf(checks), failed };
}

const affirmed = { authenticity: 'authentic', tier: 'affirming', failed: [] };
const zeros = new Uint8Array(48);

describe('a made-up enclave', () => {
  it('is affirmed', async () => {
    expect(await judge(await fakeNitro())).toEqual(affirmed);
  });

  const forged: [string, FakeNitroOptions, string][] = [
    ['bundle in leaf-to-root order', { cabundle: (bundle) => bundle.toReversed() }, 'NITRO_CHAIN_ORDER'],
    ['root twice', { cabundle: ([root, zone]) => [root!, root!, zone!] }, 'NITRO_CHAIN_ORDER'],
    ['no root', { cabundle: ([, zone]) => [zone!] }, 'X509_PATH_ISSUER_MISSING'],
    ['no bundle', { cabundle: () => [] }, 'X509_PATH_ISSUER_MISSING'],
    ['another digest', { payload: { digest: 'SHA256' } }, 'MESSAGE_SHAPE'],
    ['no timestamp', { payload: { timestamp: undefined } }, 'MESSAGE_SHAPE'],
    ['an unknown field', { payload: { more: 1 } }, 'MESSAGE_SHAPE'],
    ['an oversized nonce', { payload: { nonce: new Uint8Array(513) } }, 'MESSAGE_SHAPE'],
    ['a short register', { payload: { pcrs: new Map([[0, new Uint8Array(32)]]) } }, 'MESSAGE_SHAPE'],
    ['a register 32', { payload: { pcrs: new Map([[32, zeros]]) } }, 'MESSAGE_SHAPE'],
    ['no registers', { payload: { pcrs: new Map() } }, 'NITRO_PCRS'],
    ['a leaf that is no certificate', { payload: { certificate: new Uint8Array(9) } }, 'DER_MALFORMED'],
    ['made before its certificate', { payload: { timestamp: BigInt(fakeNitroAt - 4000) * 1000n } }, 'NITRO_TIMESTAMP'],
    ['another algorithm', { protectedHeader: Uint8Array.of(0xa1, 1, 0x27) }, 'COSE_SIGNATURE_LENGTH'],
    ['an unprotected header', { unprotected: new Map([[4, zeros]]) }, 'COSE_HEADER'],
    ['tagged', { encode: (document) => Uint8Array.of(0xd2, ...document) }, 'COSE_MALFORMED'],
    ['trailing byte', { encode: (document) => Uint8Array.of(...document, 0) }, 'CBOR_MALFORMED'],
    ['long head', { encode: (document) => Uint8Array.of(0x98, 4, ...document.subarray(1)) }, 'CBOR_NOT_CANONICAL'],
  ];
  for (const [what, options, code] of forged) {
    it(`is forged: ${what}`, async () => {
      const verdict = await judge(await fakeNitro(options));
      expect(verdict).toEqual({ authenticity: 'forged', tier: 'contraindicated', failed: [`${code} forged`] });
    });
  }

  it('is forged under another root and outside its dates', async () => {
    const request = await fakeNitro();
    expect((await judge({ ...request, pins: new Set([nitroRootSpkiSha256]) })).failed).toEqual([
      'X509_PATH_ROOT forged',
    ]);
    expect((await judge({ ...request, at: fakeNitroAt + 7201 })).failed).toEqual(['X509_PATH_EXPIRED refused']);
    expect((await judge({ ...request, at: fakeNitroAt - 3601 })).failed).toEqual(['X509_PATH_NOT_YET refused']);
  });

  it('belongs to the session that asked', async () => {
    const request = await fakeNitro();
    const session = { nonce: Uint8Array.of(9, 9), userData: Uint8Array.of(1, 2, 3) };
    expect(await judge({ ...request, ...session })).toEqual(affirmed);
    const wrong = { nonce: Uint8Array.of(9), publicKey: Uint8Array.of(1), userData: Uint8Array.of(1, 2, 3, 0) };
    const other = await judge({ ...request, nonce: wrong.nonce });
    expect(other).toMatchObject({ authenticity: 'authentic', failed: ['NITRO_NONCE refused'] });
    expect((await judge({ ...request, publicKey: wrong.publicKey })).failed).toEqual(['NITRO_PUBLIC_KEY refused']);
    expect((await judge({ ...request, userData: wrong.userData })).failed).toEqual(['NITRO_USER_DATA refused']);
  });

  it('is refused in debug mode, with other registers, or too old', async () => {
    const debug = await fakeNitro({ payload: { pcrs: new Map([0, 1, 2].map((index) => [index, zeros])) } });
    expect(await judge(debug)).toEqual({
      authenticity: 'authentic',
      tier: 'contraindicated',
      failed: ['NITRO_DEBUG refused'],
    });
    const absent = await fakeNitro({ payload: { pcrs: new Map([[3, new Uint8Array(48).fill(1)]]) } });
    expect((await judge(absent)).failed).toEqual(['NITRO_DEBUG refused']);
    const request = await fakeNitro();
    const register = '01'.repeat(48);
    expect(await judge(request, { pcrs: { 0: [register] } })).toEqual(affirmed);
    expect((await judge(request, { pcrs: { 0: [register], 1: [register] } })).failed).toEqual(['NITRO_PCR refused']);
    expect((await judge(request, { pcrs: { 31: [register] } })).failed).toEqual(['NITRO_PCR refused']);
    const later = { ...request, at: fakeNitroAt + 300 };
    expect(await judge(later, { pcrs: {}, ageSecondsMax: 301 })).toEqual(affirmed);
    expect((await judge(later, { pcrs: {}, ageSecondsMax: 300 })).failed).toEqual(['NITRO_AGE refused']);
    expect((await judge({ ...request, at: fakeNitroAt - 62 })).failed).toEqual(['NITRO_AGE refused']);
  });
});

describe.skipIf(!existsSync(vectors))('a real document', () => {
  const document = existsSync(vectors)
    ? new Uint8Array(readFileSync(join(vectors, 'aws-nitro/nitro-eif/attestation.cose')))
    : new Uint8Array();
  const request = { document, at: 1766668537, pins: new Set([nitroRootSpkiSha256]) };

  it('has a signature and a chain that node:crypto accepts', () => {
    const message = readSign1(document, 'untagged');
    const encoder = new Encoder({ useRecords: false, tagUint8Array: false });
    const payload = encoder.decode(message.payload) as { certificate: Uint8Array; cabundle: Uint8Array[] };
    const chain = [payload.certificate, ...payload.cabundle.toReversed()].map((der) => new X509Certificate(der));
    chain.slice(1).forEach((issuer, i) => expect(chain[i]!.verify(issuer.publicKey)).toBe(true));
    const signed = encoder.encode(['Signature1', message.protectedBytes, new Uint8Array(), message.payload]);
    const key = { key: chain[0]!.publicKey, dsaEncoding: 'ieee-p1363' as const };
    expect(nodeVerify('sha384', signed, key, message.signature)).toBe(true);
  });

  it('is forged after one changed bit, anywhere', async () => {
    for (let i = 0; i < document.length; i += i < 32 || i > document.length - 100 ? 3 : 37) {
      const changed = document.slice();
      changed[i]! ^= 1 << (i % 8);
      expect((await judge({ ...request, document: changed })).authenticity, `byte ${i}`).toBe('forged');
    }
  }, 60_000);

  it('is forged when cut at any length', async () => {
    for (let length = 0; length < document.length; length++) {
      expect((await judge({ ...request, document: document.subarray(0, length) })).authenticity).toBe('forged');
    }
  });

  it('is forged with r or s out of range', async () => {
    const order = 'ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973';
    for (const part of [new Uint8Array(48), Uint8Array.from(Buffer.from(order, 'hex')), new Uint8Array(48).fill(255)]) {
      for (const offset of [96, 48]) {
        const changed = document.slice();
        changed.set(part, document.length - offset);
        expect((await judge({ ...request, document: changed })).failed).toEqual(['NITRO_SIGNATURE forged']);
      }
    }
  });
});
