import { readFileSync, writeFileSync } from 'node:fs';
import { ed25519 } from '@noble/curves/ed25519.js';
import { describe, expect, it } from 'vitest';
import { decodeCanonical, encodeCanonical } from '../base/cbor.js';
import { ed25519Signer, signSign1 } from '../base/cose.js';
import { documentDigest, encodeDocument } from '../check/document.js';
import { neutralPolicy, parsePolicy, policyJsonSchema, signPolicy, verifyPolicy } from './policy.js';
import { parseReferenceValues, signReferenceValues, verifyReferenceValues } from './reference-values.js';

const secret = new Uint8Array(32).fill(3);
const publicKey = ed25519.getPublicKey(secret);
const keyId = new Uint8Array(4);
const sign = ed25519Signer(secret);
const text = (change: object = {}) => JSON.stringify({ ...neutralPolicy, ...change });

describe('a policy', () => {
  it('is read back from JSON and from its signed form', async () => {
    expect(parsePolicy(text())).toEqual(neutralPolicy);
    expect(await verifyPolicy(await signPolicy(neutralPolicy, keyId, sign), publicKey)).toEqual(neutralPolicy);
  });

  it.each([
    ['DOCUMENT_SHAPE', text({ extra: 1 })],
    ['DOCUMENT_SHAPE', text({ snp: { ...neutralPolicy.snp, allowDebgu: true } })],
    ['DOCUMENT_SHAPE', text({ snp: { ...neutralPolicy.snp, measurements: ['AB'.repeat(48)] } })],
    ['DOCUMENT_SHAPE', text({ snp: { ...neutralPolicy.snp, measurements: ['ab'] } })],
    ['DOCUMENT_SHAPE', text({ snp: { ...neutralPolicy.snp, vmpls: [4] } })],
    ['DOCUMENT_SHAPE', text({ quote: { ...neutralPolicy.quote, acceptedStatuses: ['Revoked'] } })],
    ['DOCUMENT_SHAPE', text({ nitro: { pcrs: { '32': [] } } })],
    ['DOCUMENT_SHAPE', text({ version: 2 })],
    ['DOCUMENT_SHAPE', text({ resultSecondsMax: 0 })],
    ['DOCUMENT_SHAPE', text({ id: undefined })],
    ['DOCUMENT_SHAPE', '[]'],
    ['DOCUMENT_JSON', '{'],
    ['DOCUMENT_JSON', text().replace('"version":1', '"version":1,"version":1')],
    ['DOCUMENT_SIZE', `${text()}${' '.repeat(2 ** 21)}`],
    [
      'POLICY_SIMULATED_ROOTS',
      text({ environment: 'production', simulatedRoots: [{ product: 'Milan', spkiSha256: '00'.repeat(32) }] }),
    ],
  ])('is refused with %s', (code, json) => {
    expect(() => parsePolicy(json)).toThrow(code);
  });

  it('may name simulated roots for development only', () => {
    const roots = [{ product: 'Milan', spkiSha256: '00'.repeat(32) }] as const;
    expect(parsePolicy(text({ environment: 'development', simulatedRoots: roots })).simulatedRoots).toEqual(roots);
  });

  it('counts keys and not quotes inside text', () => {
    expect(parsePolicy(text({ id: 'a "b": c' })).id).toBe('a "b": c');
  });

  it('is refused with another key, content type, or an altered payload', async () => {
    const signed = await signPolicy(neutralPolicy, keyId, sign);
    await expect(verifyPolicy(signed, ed25519.getPublicKey(new Uint8Array(32)))).rejects.toThrow('COSE_SIGNATURE');
    const flipped = signed.slice();
    flipped[flipped.length - 100]! ^= 1;
    await expect(verifyPolicy(flipped, publicKey)).rejects.toThrow();
    const values = await signSign1(
      { algorithm: 'EdDSA', contentType: 'application/other', keyId },
      encodeDocument(neutralPolicy),
      sign,
    );
    await expect(verifyPolicy(values, publicKey)).rejects.toThrow('COSE_CONTENT_TYPE');
  });

  it('has one digest whatever the order of its fields', () => {
    const reversed = Object.fromEntries(Object.entries(neutralPolicy).reverse());
    expect(documentDigest(reversed)).toBe(documentDigest(neutralPolicy));
    expect(documentDigest({ ...neutralPolicy, id: 'x' })).not.toBe(documentDigest(neutralPolicy));
    expect(encodeCanonical(decodeCanonical(encodeDocument(neutralPolicy)))).toEqual(encodeDocument(neutralPolicy));
  });

  it('has a published schema that is the one its parser states', () => {
    const file = new URL('./policy.schema.json', import.meta.url);
    const stated: unknown = JSON.parse(JSON.stringify(policyJsonSchema()));
    if (process.env['BLESS'] === '1') writeFileSync(file, `${JSON.stringify(stated, null, 2)}\n`);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(stated);
  });
});

describe('reference values', () => {
  const values = {
    version: 1,
    id: 'images',
    notBefore: 0,
    snpMeasurements: [{ digest: '00'.repeat(48), label: 'a' }],
    snpIdKeyDigests: [],
    quoteMeasurements: [],
  } as const;

  it('are read back from JSON and from their signed form, and are no policy', async () => {
    expect(parseReferenceValues(JSON.stringify(values))).toEqual(values);
    const signed = await signReferenceValues(values, keyId, sign);
    expect(await verifyReferenceValues(signed, publicKey)).toEqual(values);
    await expect(verifyPolicy(signed, publicKey)).rejects.toThrow('COSE_CONTENT_TYPE');
    expect(() => parseReferenceValues(JSON.stringify({ ...values, more: 1 }))).toThrow('DOCUMENT_SHAPE');
  });
});
