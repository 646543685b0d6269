import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { describe, expect, it } from 'vitest';
import { fromHex, utf8 } from './bytes.js';
import { decodeCanonical, encodeCanonical, type CborTag, type CborValue } from './cbor.js';
import { ed25519Signer, readSign1, signSign1, verifySign1 } from './cose.js';

const testSecret = new Uint8Array(32).fill(7);
const publicKey = ed25519.getPublicKey(testSecret);
const header = { algorithm: 'EdDSA', contentType: 'application/test', keyId: utf8('k1') } as const;
const signed = () => signSign1(header, utf8('payload'), ed25519Signer(testSecret));
const parts = (bytes: Uint8Array) => [...((decodeCanonical(bytes) as CborTag).value as CborValue[])];
const build = (items: readonly CborValue[]) => encodeCanonical({ tag: 18, value: items });

describe('COSE_Sign1', () => {
  it('signs and opens, and node:crypto agrees on the signature', async () => {
    const message = readSign1(await signed(), 'tagged');
    expect(await verifySign1(message, { ...header, publicKey })).toEqual(utf8('payload'));
    const key = createPublicKey({
      key: Buffer.concat([fromHex('302a300506032b6570032100'), publicKey]),
      format: 'der',
      type: 'spki',
    });
    const structure = encodeCanonical(['Signature1', message.protectedBytes, new Uint8Array(0), message.payload]);
    expect(verify(null, structure, key, message.signature)).toBe(true);
  });

  it('refuses another key, payload, header, external data', async () => {
    const message = readSign1(await signed(), 'tagged');
    const open = (change: object, expected: object = {}) =>
      verifySign1({ ...message, ...change }, { ...header, publicKey, ...expected });
    await expect(open({}, { publicKey: ed25519.getPublicKey(new Uint8Array(32).fill(8)) })).rejects.toThrow(
      'COSE_SIGNATURE',
    );
    await expect(open({ payload: utf8('Payload') })).rejects.toThrow('COSE_SIGNATURE');
    await expect(open({}, { externalAad: utf8('x') })).rejects.toThrow('COSE_SIGNATURE');
    await expect(open({}, { contentType: 'application/other' })).rejects.toThrow('COSE_CONTENT_TYPE');
    await expect(open({}, { keyId: utf8('k2') })).rejects.toThrow('COSE_KEY_ID');
    await expect(open({}, { algorithm: 'ES384' })).rejects.toThrow('COSE_ALGORITHM');
    await expect(open({}, { publicKey: new Uint8Array(31) })).rejects.toThrow('COSE_KEY');
  });

  it('refuses a second signature of the same message: s + L', async () => {
    const message = readSign1(await signed(), 'tagged');
    const order = 0x1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3edn;
    let s = 0n;
    for (let i = 63; i >= 32; i--) s = (s << 8n) | BigInt(message.signature[i]!);
    const signature = message.signature.slice();
    for (let i = 0; i < 32; i++) signature[32 + i] = Number(((s + order) >> BigInt(8 * i)) & 0xffn);
    await expect(verifySign1({ ...message, signature }, { ...header, publicKey })).rejects.toThrow('COSE_SIGNATURE');
  });

  it('refuses every other shape', async () => {
    const [protectedBytes, unprotected, payload, signature] = parts(await signed()) as [
      CborValue,
      CborValue,
      CborValue,
      CborValue,
    ];
    const protect = (entries: [CborValue, CborValue][]) => encodeCanonical(new Map(entries));
    const cases: [CborValue[], string][] = [
      [[protectedBytes, unprotected, payload], 'COSE_MALFORMED'],
      [[protectedBytes, new Map([[4, utf8('x')]]), payload, signature], 'COSE_HEADER'],
      [[protectedBytes, unprotected, null, signature], 'COSE_MALFORMED'],
      [[protectedBytes, unprotected, payload, new Uint8Array(63)], 'COSE_SIGNATURE_LENGTH'],
      [[protect([[1, -7]]), unprotected, payload, signature], 'COSE_ALGORITHM'],
      [[protect([]), unprotected, payload, signature], 'COSE_ALGORITHM'],
      [
        [
          protect([
            [1, -8],
            [2, [99]],
            [99, 1],
          ]),
          unprotected,
          payload,
          signature,
        ],
        'COSE_HEADER',
      ],
      [
        [
          protect([
            [1, -8],
            [3, 5],
          ]),
          unprotected,
          payload,
          signature,
        ],
        'COSE_HEADER',
      ],
    ];
    for (const [items, code] of cases) expect(() => readSign1(build(items), 'tagged')).toThrow(code);
    expect(() => readSign1(encodeCanonical([protectedBytes, unprotected, payload, signature]), 'tagged')).toThrow(
      'COSE_MALFORMED',
    );
    expect(() => readSign1(new Uint8Array(2 * 1024 * 1024), 'tagged')).toThrow('COSE_SIZE');
  });

  it('checks ES384 by SubjectPublicKeyInfo', async () => {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-384' });
    const key = createPrivateKey(pair.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const spki = new Uint8Array(pair.publicKey.export({ type: 'spki', format: 'der' }));
    const bytes = await signSign1(
      { algorithm: 'ES384' },
      utf8('p'),
      (data) => new Uint8Array(sign('sha384', data, { key, dsaEncoding: 'ieee-p1363' })),
    );
    const message = readSign1(bytes, 'tagged');
    expect(await verifySign1(message, { algorithm: 'ES384', publicKey: spki })).toEqual(utf8('p'));
    await expect(
      verifySign1({ ...message, payload: utf8('q') }, { algorithm: 'ES384', publicKey: spki }),
    ).rejects.toThrow('COSE_SIGNATURE');
    await expect(
      verifySign1({ ...message, signature: new Uint8Array(96) }, { algorithm: 'ES384', publicKey: spki }),
    ).rejects.toThrow('COSE_SIGNATURE');
  });
});
