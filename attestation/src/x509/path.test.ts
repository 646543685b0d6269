/** Paths and lists on certificates made for the purpose: each negative differs from the good chain in one thing. */
import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { beforeAll, describe, expect, it } from 'vitest';
import { concatBytes } from '../base/bytes.js';
import { parseCertificate, parsePemCertificates, type Certificate } from './certificate.js';
import { parseCrl, revocationOf, verifyCrl } from './crl.js';
import { verifyPath, type PathRequest } from './path.js';

const at = 1_800_000_000;
const curve = { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' } as const;
type Keys = Awaited<ReturnType<typeof newKeys>>;
const newKeys = () => globalThis.crypto.subtle.generateKey(curve, true, ['sign', 'verify']);
const time = (seconds: number) => new Date(seconds * 1000);
const ca = (length?: number) => new x509.BasicConstraintsExtension(true, length, true);
const usage = (flags: x509.KeyUsageFlags) => new x509.KeyUsagesExtension(flags, true);

interface Make {
  readonly subject: string;
  readonly issuer: string;
  readonly keys: Keys;
  readonly signer: Keys;
  readonly extensions?: x509.Extension[];
  readonly notBefore?: number;
  readonly notAfter?: number;
}
async function make({ subject, issuer, keys, signer, extensions = [], notBefore = at - 10, notAfter = at + 10 }: Make) {
  const certificate = await x509.X509CertificateGenerator.create({
    subject: `CN=test ${subject}`,
    issuer: `CN=test ${issuer}`,
    publicKey: keys.publicKey,
    signingKey: signer.privateKey,
    signingAlgorithm: curve,
    serialNumber: '05',
    notBefore: time(notBefore),
    notAfter: time(notAfter),
    extensions,
  });
  return new Uint8Array(certificate.rawData);
}

let rootKeys: Keys, middleKeys: Keys, leafKeys: Keys;
let root: Certificate, middle: Certificate, leaf: Certificate;
const rootOf = (change: Partial<Make> = {}) =>
  make({ subject: 'root', issuer: 'root', keys: rootKeys, signer: rootKeys, extensions: [ca()], ...change });
const middleOf = (change: Partial<Make> = {}) =>
  make({ subject: 'middle', issuer: 'root', keys: middleKeys, signer: rootKeys, extensions: [ca(0)], ...change });
const leafOf = (change: Partial<Make> = {}) =>
  make({ subject: 'leaf', issuer: 'middle', keys: leafKeys, signer: middleKeys, ...change });

beforeAll(async () => {
  [rootKeys, middleKeys, leafKeys] = await Promise.all([newKeys(), newKeys(), newKeys()]);
  [root, middle, leaf] = (await Promise.all([rootOf(), middleOf(), leafOf()])).map(parseCertificate) as [
    Certificate,
    Certificate,
    Certificate,
  ];
});

const path = (change: Partial<PathRequest> = {}) =>
  verifyPath({ leaf, pool: [middle, root], rootSpkiSha256: new Set([root.spkiSha256]), at, ...change });
const withMiddle = async (change: Partial<Make>) => path({ pool: [parseCertificate(await middleOf(change)), root] });
const withLeaf = async (change: Partial<Make>) => path({ leaf: parseCertificate(await leafOf(change)) });

describe('a path', () => {
  it('is found in any order and ends at the pin', async () => {
    expect((await path()).certificates.map(({ subjectText }) => subjectText)).toEqual([
      'CN=test leaf',
      'CN=test middle',
      'CN=test root',
    ]);
    expect((await path({ pool: [root, middle] })).root).toBe(root);
  });

  it('refuses a pinned root that did not sign its own fields', async () => {
    const elsewhere = parseCertificate(await rootOf({ issuer: 'elsewhere' }));
    expect(elsewhere.spkiSha256).toBe(root.spkiSha256);
    await expect(path({ pool: [middle, elsewhere] })).rejects.toThrow('X509_PATH_ROOT');
    const resigned = parseCertificate(await rootOf({ signer: leafKeys }));
    await expect(path({ pool: [middle, resigned] })).rejects.toThrow('X509_SIGNATURE');
    expect((await path({ pool: [middle, elsewhere, root] })).root).toBe(root);
  });

  it('tries the next issuer of the same name', async () => {
    const impostor = parseCertificate(await middleOf({ keys: leafKeys }));
    expect((await path({ pool: [impostor, middle, root] })).certificates[1]).toBe(middle);
    await expect(path({ pool: [impostor, root] })).rejects.toThrow('X509_SIGNATURE');
  });

  it('gives no weight to a root that is not pinned', async () => {
    await expect(path({ rootSpkiSha256: new Set() })).rejects.toThrow('X509_PATH_ROOT');
    const named = parseCertificate(await rootOf({ keys: leafKeys, signer: leafKeys }));
    await expect(path({ pool: [middle, named] })).rejects.toThrow('X509_SIGNATURE');
    await expect(path({ leaf: root, pool: [] })).rejects.toThrow('X509_PATH_ROOT');
  });

  it('says which issuer is missing', async () => {
    await expect(path({ pool: [root] })).rejects.toMatchObject({
      code: 'X509_PATH_ISSUER_MISSING',
      family: 'collateral',
    });
  });

  it('holds every date against the time', async () => {
    await expect(path({ at: at - 11 })).rejects.toThrow('X509_PATH_NOT_YET');
    await expect(path({ at: at + 11 })).rejects.toThrow('X509_PATH_EXPIRED');
    await expect(withMiddle({ notAfter: at - 1 })).rejects.toThrow('X509_PATH_EXPIRED');
    await expect(path({ at: at + 12, graceSeconds: 1 })).rejects.toThrow('X509_PATH_EXPIRED');
    expect((await path({ at: at + 11, graceSeconds: 1 })).expired).toHaveLength(3);
    const later = parseCertificate(await leafOf({ notBefore: at + 5 }));
    await expect(path({ leaf: later })).rejects.toThrow('X509_PATH_NOT_YET');
    expect((await path({ leaf: later, leafIssuedOnDemand: true })).expired).toEqual([]);
  });

  it('lets only CAs issue, within their length and usage', async () => {
    await expect(withMiddle({ extensions: [] })).rejects.toThrow('X509_PATH_NOT_CA');
    await expect(
      withMiddle({ extensions: [new x509.BasicConstraintsExtension(false, undefined, true)] }),
    ).rejects.toThrow('X509_PATH_NOT_CA');
    await expect(withMiddle({ extensions: [ca(), usage(x509.KeyUsageFlags.digitalSignature)] })).rejects.toThrow(
      'X509_PATH_KEY_USAGE',
    );
    await expect(withLeaf({ extensions: [usage(x509.KeyUsageFlags.keyAgreement)] })).rejects.toThrow(
      'X509_PATH_KEY_USAGE',
    );
    const short = parseCertificate(await rootOf({ extensions: [ca(0)] }));
    await expect(path({ pool: [middle, short] })).rejects.toThrow('X509_PATH_LENGTH');
  });

  it('understands every critical extension or refuses', async () => {
    const unknown = new x509.Extension('1.2.3.4', true, Uint8Array.of(5, 0));
    await expect(withLeaf({ extensions: [unknown] })).rejects.toThrow('X509_PATH_CRITICAL_EXTENSION');
    const known = parseCertificate(await leafOf({ extensions: [unknown] }));
    expect((await path({ leaf: known, knownCritical: new Set(['1.2.3.4']) })).root).toBe(root);
    expect((await withLeaf({ extensions: [new x509.Extension('1.2.3.4', false, Uint8Array.of(5, 0))] })).root).toBe(
      root,
    );
  });

  it('spends no more than its limits', async () => {
    await expect(path({ pool: Array.from({ length: 25 }, () => middle) })).rejects.toThrow('X509_PATH_TOO_LONG');
    const loop = [
      await make({ subject: 'a', issuer: 'b', keys: middleKeys, signer: rootKeys, extensions: [ca()] }),
      await make({ subject: 'b', issuer: 'a', keys: rootKeys, signer: middleKeys, extensions: [ca()] }),
    ].map(parseCertificate);
    const start = parseCertificate(await make({ subject: 'x', issuer: 'a', keys: leafKeys, signer: middleKeys }));
    await expect(path({ leaf: start, pool: loop, rootSpkiSha256: new Set() })).rejects.toThrow(
      'X509_PATH_ISSUER_MISSING',
    );
  });
});

describe('a certificate', () => {
  it('is refused with anything left over, doubled or reworded', async () => {
    const der = await leafOf();
    expect(() => parseCertificate(concatBytes(der, Uint8Array.of(0)))).toThrow('DER_MALFORMED');
    expect(() => parseCertificate(new Uint8Array(20_000))).toThrow('X509_SIZE');
    const twice = [1, 2].map((n) => new x509.Extension('1.2.3', false, Uint8Array.of(n)));
    const doubled = await leafOf({ extensions: twice });
    expect(() => parseCertificate(doubled)).toThrow('X509_DUPLICATE_EXTENSION');
    const longLength = concatBytes(Uint8Array.of(0x30, 0x83, 0, der[2]!, der[3]!), der.subarray(4));
    expect(() => parseCertificate(longLength)).toThrow('DER_MALFORMED');
    for (let length = 0; length < der.length; length++)
      expect(() => parseCertificate(der.subarray(0, length))).toThrow();
  });

  it('is refused with an algorithm off the list', async () => {
    const weak = { ...curve, hash: 'SHA-1' };
    const certificate = await x509.X509CertificateGenerator.create({
      subject: 'CN=test',
      issuer: 'CN=test',
      publicKey: leafKeys.publicKey,
      signingKey: leafKeys.privateKey,
      signingAlgorithm: weak,
      notBefore: time(at),
      notAfter: time(at + 1),
    });
    expect(() => parseCertificate(new Uint8Array(certificate.rawData))).toThrow('X509_ALGORITHM');
  });

  it('is read from strict PEM only', async () => {
    const pem = new x509.X509Certificate((await leafOf()) as Uint8Array<ArrayBuffer>).toString('pem');
    expect(parsePemCertificates(`${pem}\n${pem}\n`)).toHaveLength(2);
    for (const bad of [
      `note\n${pem}`,
      `${pem}\nx`,
      pem.replace('\n', ' \n'),
      pem.replace('BEGIN', 'BEGiN'),
      '',
      pem.slice(0, -5),
    ]) {
      expect(() => parsePemCertificates(bad)).toThrow('X509_PEM');
    }
  });
});

describe('a revocation list', () => {
  const list = async (
    options: { next?: number; serial?: string; extensions?: x509.Extension[]; signer?: Keys } = {},
  ) => {
    const crl = await x509.X509CrlGenerator.create({
      issuer: 'CN=test root',
      thisUpdate: time(at - 5),
      ...(options.next !== 0 && { nextUpdate: time(options.next ?? at + 5) }),
      signingAlgorithm: curve,
      signingKey: (options.signer ?? rootKeys).privateKey,
      entries: options.serial === undefined ? [] : [{ serialNumber: options.serial, revocationDate: time(at - 6) }],
      ...(options.extensions && { extensions: options.extensions }),
    });
    return parseCrl(new Uint8Array(crl.rawData));
  };

  it('is good, revoked or stale', async () => {
    const crl = await list({ serial: '07' });
    await verifyCrl(crl, root);
    expect(revocationOf(crl, ['05'], at)).toBe('good');
    expect(revocationOf(crl, ['05', '07'], at)).toBe('revoked');
    expect(revocationOf(crl, ['05'], at + 5)).toBe('stale');
    expect(revocationOf(crl, ['07'], at + 5)).toBe('revoked');
    expect(revocationOf(crl, ['05'], at - 6)).toBe('stale');
    expect(revocationOf(crl, ['07'], at - 6)).toBe('revoked');
    expect(revocationOf(crl, ['07'], at - 7)).toBe('stale');
    expect(revocationOf(await list({ next: 0 }), ['05'], at)).toBe('stale');
  });

  it('counts only from its issuer', async () => {
    await expect(verifyCrl(await list(), middle)).rejects.toThrow('CRL_ISSUER');
    await expect(verifyCrl(await list({ signer: leafKeys }), root)).rejects.toThrow('X509_SIGNATURE');
    const signingOnly = parseCertificate(await rootOf({ extensions: [ca(), usage(x509.KeyUsageFlags.keyCertSign)] }));
    await expect(verifyCrl(await list(), signingOnly)).rejects.toThrow('CRL_KEY_USAGE');
  });

  it('is refused with a critical extension that narrows it', async () => {
    await expect(list({ extensions: [new x509.Extension('2.5.29.28', true, Uint8Array.of(0x30, 0))] })).rejects.toThrow(
      'CRL_CRITICAL_EXTENSION',
    );
    expect(() => parseCrl(new Uint8Array(2 * 1024 * 1024))).toThrow('CRL_SIZE');
  });
});
