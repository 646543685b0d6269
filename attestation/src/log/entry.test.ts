/** Entries: what is shown of them, to whom, and what is no entry. */
import { ed25519 } from '@noble/curves/ed25519.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { describe, expect, it } from 'vitest';
import { concatBytes, equalBytes, toHex, uintBe, utf8 } from '../base/bytes.js';
import { decodeCanonical, encodeCanonical } from '../base/cbor.js';
import { ed25519Signer, readSign1, signSign1 } from '../base/cose.js';
import { toCbor } from '../base/shape.js';
import { entryTag, makePublicEntry, makeSealedEntry, openEntry, parseEntry, verifyEntry } from './entry.js';

const secret = new Uint8Array(32).fill(7);
const issuer = { name: 'broker.example', publicKey: ed25519.getPublicKey(secret), sign: ed25519Signer(secret) };
const bytesOf = (seed: number, size = 32): Uint8Array => sha256(uintBe(seed, 4)).slice(0, size);

function drawn(): (size: number) => Uint8Array {
  let count = 1000;
  return (size) => bytesOf(count++, size);
}

const [job, dataset, chip] = [bytesOf(1), bytesOf(2), bytesOf(3)];
const watchKeys = [bytesOf(4), bytesOf(5)];
const body = {
  job,
  dataset,
  keys: bytesOf(6),
  evidence: sha256(chip),
  grant: bytesOf(7),
  notAfter: 1_800_000_000,
};
const made = (random = drawn()) =>
  makeSealedEntry(issuer, 'key-release', body, { at: 1_790_000_000, watchKeys, random });
const image = {
  name: 'enclave',
  version: '1.2.3',
  digest: bytesOf(8),
  measurements: [{ kind: 'snp', value: bytesOf(9, 48 - 16) }],
  commit: bytesOf(10, 20),
  sbom: null,
};

describe('sealed entries', () => {
  it('open for who holds the opening, and are found by who holds a watch key', async () => {
    const { entry, opening } = await made();
    const read = await verifyEntry(entry, issuer.publicKey);
    if (read.class !== 'sealed') throw new Error(read.class);
    expect(openEntry(read, 'key-release', opening)).toEqual(body);
    expect(read.tags).toHaveLength(3);
    for (const key of watchKeys) {
      expect(read.tags.some((tag) => equalBytes(tag, entryTag(key, read.nonce)))).toBe(true);
    }
    const stranger = entryTag(bytesOf(99), read.nonce);
    expect(read.tags.some((tag) => equalBytes(tag, stranger))).toBe(false);
    expect(entry.length).toBeLessThan(420);
  });

  it('hold nothing of their body, nor two entries of one job a tag in common', async () => {
    const random = drawn();
    const [a, b] = [await made(random), await made(random)];
    const secrets = [...Object.values(body).filter((value) => typeof value !== 'number'), chip, ...watchKeys];
    const plain = [...secrets, ...secrets.map((value) => sha256(value))].map(toHex);
    for (const { entry } of [a, b]) {
      const text = toHex(entry);
      for (const value of plain) {
        for (let at = 0; at + 16 <= value.length; at += 2) expect(text).not.toContain(value.slice(at, at + 16));
      }
    }
    const tagsOf = (entry: Uint8Array): string[] => {
      const read = parseEntry(entry);
      return read.class === 'sealed' ? read.tags.map(toHex) : [];
    };
    expect(tagsOf(a.entry).filter((tag) => tagsOf(b.entry).includes(tag))).toEqual([]);
    expect(tagsOf(a.entry)).toHaveLength(3);
  });

  it('open to no other body, salt or kind', async () => {
    const { entry, opening } = await made();
    const read = parseEntry(entry);
    if (read.class !== 'sealed') throw new Error(read.class);
    const other = encodeCanonical(toCbor({ ...body, notAfter: 1 }));
    expect(() => openEntry(read, 'key-release', { ...opening, body: other })).toThrow(/LOG_OPENING/);
    expect(() => openEntry(read, 'key-release', { ...opening, salt: bytesOf(1) })).toThrow(/LOG_OPENING/);
    const moved = { salt: opening.salt.slice(0, 31), body: concatBytes(opening.salt.slice(31), opening.body) };
    expect(() => openEntry(read, 'key-release', moved)).toThrow(/LOG_OPENING/);
    expect(() => openEntry(read, 'job-bundle', opening)).toThrow(/LOG_ENTRY_HEADER/);
  });
});

describe('public entries', () => {
  it('are read by everybody', async () => {
    const entry = await makePublicEntry(issuer, 'image', image, 1_790_000_000);
    expect(await verifyEntry(entry, issuer.publicKey)).toMatchObject({ class: 'public', kind: 'image', body: image });
  });

  it('are refused where a member is missing, too long or unknown', async () => {
    const make = (change: object): Promise<unknown> =>
      makePublicEntry(issuer, 'image', { ...image, ...change }, 1_790_000_000);
    await expect(make({ version: undefined })).rejects.toThrow(/MESSAGE_SHAPE/);
    await expect(make({ name: 'x'.repeat(129) })).rejects.toThrow(/MESSAGE_SHAPE/);
    await expect(make({ extra: 1 })).rejects.toThrow(/MESSAGE_SHAPE/);
  });
});

describe('what is no entry', () => {
  const payload = new Map<string, unknown>([
    ['v', 1],
    ['kind', 'image'],
    ['at', 1_790_000_000],
    ['body', toCbor(image)],
  ]);
  const contentType = 'application/veritrain-log-entry+cbor';
  const sign = (
    header: Partial<Parameters<typeof signSign1>[0]>,
    message: Uint8Array = encodeCanonical(payload as never),
  ) =>
    signSign1(
      {
        algorithm: 'EdDSA',
        contentType,
        keyId: issuer.publicKey,
        claims: { issuer: issuer.name, subject: 'image' },
        ...header,
      },
      message,
      issuer.sign,
    );

  it('is told by its code', async () => {
    await expect(sign({}).then(parseEntry)).resolves.toMatchObject({ kind: 'image' });
    const faults: readonly (readonly [Promise<Uint8Array>, RegExp])[] = [
      [sign({ claims: undefined } as never), /COSE_HEADER/],
      [sign({ claims: { issuer: '', subject: 'image' } }), /COSE_HEADER/],
      [sign({ claims: { issuer: 'x', subject: 'policy' } }), /LOG_ENTRY_HEADER/],
      [sign({ claims: { issuer: 'x', subject: 'key-release' } }), /MESSAGE_SHAPE/],
      [sign({ claims: { issuer: 'x', subject: 'constructor' } }), /LOG_ENTRY_KIND/],
      [sign({ keyId: new Uint8Array(31) }), /LOG_ENTRY_HEADER/],
      [sign({}, encodeCanonical(new Map([...payload, ['v', 2]]) as never)), /MESSAGE_SHAPE/],
      [sign({}, new Uint8Array(5000)), /MESSAGE_SIZE/],
      [sign({}, utf8('{}')), /CBOR/],
    ];
    for (const [entry, code] of faults) {
      const bytes = await entry;
      expect(() => parseEntry(bytes)).toThrow(code);
    }
  });

  it('is signed by another, or says another content type', async () => {
    const entry = await sign({});
    await expect(verifyEntry(entry, bytesOf(1))).rejects.toThrow(/COSE_/);
    await expect(verifyEntry(await sign({ contentType: 'text/plain' }), issuer.publicKey)).rejects.toThrow(
      /COSE_CONTENT_TYPE/,
    );
  });

  it('is an entry with one byte changed, or cut short', async () => {
    const { entry } = await made();
    for (let at = 0; at < entry.length; at++) {
      const bent = Uint8Array.from(entry);
      bent[at]! ^= 1 << (at % 8);
      await expect(verifyEntry(bent, issuer.publicKey)).rejects.toThrow(/^[A-Z_0-9]+:/);
      expect(() => parseEntry(entry.subarray(0, at))).toThrow(/^[A-Z_0-9]+:/);
    }
  });

  it('is no message for those who read without claims', async () => {
    const entry = await sign({});
    expect(() => readSign1(entry, 'tagged')).toThrow(/COSE_HEADER/);
    expect(decodeCanonical(readSign1(entry, 'tagged', 'with-claims').payload)).toBeInstanceOf(Map);
  });
});
