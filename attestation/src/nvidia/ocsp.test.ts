import 'reflect-metadata';
import { createHash, verify as nodeVerify, X509Certificate, type webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { beforeAll, describe, expect, it } from 'vitest';
import { concatBytes, fromHex, uintBe, utf8 } from '../base/bytes.js';
import { parseCertificate, type Certificate } from '../x509/certificate.js';
import { parseOcspResponse } from './ocsp-response.js';
import { judgeRevocation, readAnswers, type OcspAnswer, type Revocation } from './ocsp.js';

// Self-made answers with test keys: no public repository holds an answer of NVIDIA's responder.
const algorithm = { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' };
const at = Date.parse('2026-03-01T00:00:00Z') / 1000;
const year = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2027-01-01T00:00:00Z') };

const der = (tag: number, ...parts: readonly Uint8Array[]): Uint8Array => {
  const content = concatBytes(...parts);
  const long =
    content.length > 0xff ? Uint8Array.of(0x82, ...uintBe(content.length, 2)) : Uint8Array.of(0x81, content.length);
  return concatBytes(Uint8Array.of(tag), content.length < 0x80 ? Uint8Array.of(content.length) : long, content);
};
const oid = (hex: string): Uint8Array => der(0x06, fromHex(hex));
const sha1Id = der(0x30, oid('2b0e03021a'), der(0x05));
const sha256Id = der(0x30, oid('608648016503040201'));
const ecdsaSha384 = der(0x30, oid('2a8648ce3d040303'));
const basicOid = oid('2b0601050507300101');
const nonceOid = oid('2b0601050507300102');
const time = (unix: number): Uint8Array =>
  der(0x18, utf8(new Date(unix * 1000).toISOString().replace(/[-:T]|\.\d+/g, '')));
const hash = (name: string, bytes: Uint8Array): Uint8Array => new Uint8Array(createHash(name).update(bytes).digest());
const keyBits = (certificate: Certificate): Uint8Array => certificate.spki.subarray(-97);

interface Signer {
  readonly keys: webcrypto.CryptoKeyPair;
  readonly certificate: Certificate;
}
let issuer: Signer;
let other: Signer;
let delegate: Signer;
let notDelegate: Signer;
let foreignDelegate: Signer;
let oldDelegate: Signer;
let subject: Certificate;

async function make(name: string, from?: Signer, extensions: x509.Extension[] = [], validity = year): Promise<Signer> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const made = await x509.X509CertificateGenerator.create({
    subject: `CN=${name}`,
    issuer: from?.certificate.subjectText.replaceAll(', ', ',') ?? `CN=${name}`,
    publicKey: keys.publicKey,
    signingKey: (from?.keys ?? keys).privateKey,
    signingAlgorithm: algorithm,
    extensions,
    ...validity,
  });
  return { keys, certificate: parseCertificate(new Uint8Array(made.rawData)) };
}

beforeAll(async () => {
  const ca = new x509.BasicConstraintsExtension(true, undefined, true);
  const ocspUsage = new x509.ExtendedKeyUsageExtension(['1.3.6.1.5.5.7.3.9']);
  issuer = await make('test issuer', undefined, [ca]);
  other = await make('test other issuer', undefined, [ca]);
  subject = (await make('test subject', issuer)).certificate;
  delegate = await make('test responder', issuer, [ocspUsage]);
  notDelegate = await make('test no responder', issuer, [new x509.ExtendedKeyUsageExtension(['1.3.6.1.5.5.7.3.1'])]);
  foreignDelegate = await make('test foreign responder', other, [ocspUsage]);
  const past = { notBefore: new Date('2025-01-01T00:00:00Z'), notAfter: new Date('2025-06-01T00:00:00Z') };
  oldDelegate = await make('test old responder', issuer, [ocspUsage], past);
});

interface Wanted {
  readonly signer?: Signer;
  readonly attach?: readonly Signer[];
  readonly status?: Uint8Array;
  readonly thisUpdate?: number;
  readonly nextUpdate?: number | null;
  readonly nonce?: Uint8Array;
  readonly byName?: boolean;
  readonly hashId?: Uint8Array;
  readonly about?: Certificate;
  readonly under?: Certificate;
  readonly extension?: Uint8Array;
}
const good = der(0x80);
const unknown = der(0x82);
const revoked = (reason?: number): Uint8Array =>
  der(0xa1, time(at - 9000), ...(reason === undefined ? [] : [der(0xa0, der(0x0a, Uint8Array.of(reason)))]));

async function answer(wanted: Wanted = {}): Promise<Uint8Array> {
  const signer = wanted.signer ?? delegate;
  const under = wanted.under ?? issuer.certificate;
  const algorithmName = wanted.hashId === sha256Id ? 'sha256' : 'sha1';
  const certId = der(
    0x30,
    wanted.hashId ?? sha1Id,
    der(0x04, hash(algorithmName, under.subject)),
    der(0x04, hash(algorithmName, keyBits(under))),
    der(0x02, fromHex((wanted.about ?? subject).serial)),
  );
  const next = wanted.nextUpdate === null ? [] : [der(0xa0, time(wanted.nextUpdate ?? at + 600))];
  const single = der(0x30, certId, wanted.status ?? good, time(wanted.thisUpdate ?? at - 600), ...next);
  const extension = wanted.nonce && der(0x30, nonceOid, der(0x04, der(0x04, wanted.nonce)));
  const extensions = [extension, wanted.extension].filter((item) => item !== undefined);
  const data = der(
    0x30,
    wanted.byName
      ? der(0xa1, signer.certificate.subject)
      : der(0xa2, der(0x04, hash('sha1', keyBits(signer.certificate)))),
    time(wanted.thisUpdate ?? at - 600),
    der(0x30, single),
    ...(extensions.length > 0 ? [der(0xa1, der(0x30, ...extensions))] : []),
  );
  const signature = await crypto.subtle.sign(algorithm, signer.keys.privateKey, data as Uint8Array<ArrayBuffer>);
  const halves = [0, 48].map((from) => {
    const bytes = new Uint8Array(signature).slice(from, from + 48);
    const start = bytes.findIndex((byte) => byte !== 0);
    return der(0x02, bytes[start]! >= 0x80 ? concatBytes(Uint8Array.of(0), bytes.slice(start)) : bytes.slice(start));
  });
  const certificates = (wanted.attach ?? [signer]).map((item) => item.certificate.raw);
  const attached = certificates.length > 0 ? [der(0xa0, der(0x30, ...certificates))] : [];
  const bits = der(0x03, Uint8Array.of(0), der(0x30, ...halves));
  const basic = der(0x30, data, ecdsaSha384, bits, ...attached);
  return der(0x30, der(0x0a, Uint8Array.of(0)), der(0xa0, der(0x30, basicOid, der(0x04, basic))));
}

const judge = (answers: readonly OcspAnswer[], when = at): Promise<Revocation> =>
  judgeRevocation(subject, issuer.certificate, readAnswers(answers), when).then(({ state }) => state);
const judgeOne = async (wanted: Wanted, nonce?: Uint8Array): Promise<Revocation> =>
  judge([{ response: await answer(wanted), ...(nonce && { nonce }) }]);
const nonce = fromHex('0102030405060708090a0b0c0d0e0f10');

describe('judgeRevocation', () => {
  const cases: [string, () => Promise<Revocation>, Revocation][] = [
    ['good, by a delegate named by key', () => judgeOne({}), 'good'],
    ['good, by a delegate named by name', () => judgeOne({ byName: true }), 'good'],
    ['good, by the issuer itself', () => judgeOne({ signer: issuer, attach: [] }), 'good'],
    ['good, named with SHA-256', () => judgeOne({ hashId: sha256Id }), 'good'],
    ['good, with the nonce asked for', () => judgeOne({ nonce }, nonce), 'good'],
    ['good, a nonce nobody asked for', () => judgeOne({ nonce }), 'good'],
    ['good, without nextUpdate within the hour', () => judgeOne({ nextUpdate: null }), 'good'],
    ['revoked', () => judgeOne({ status: revoked() }), 'revoked'],
    ['revoked for key compromise', () => judgeOne({ status: revoked(1) }), 'revoked'],
    ['on hold', () => judgeOne({ status: revoked(6) }), 'on-hold'],
    ['unknown', () => judgeOne({ status: unknown }), 'unknown'],
    ['A-L2 revoked, though past nextUpdate', () => judgeOne({ status: revoked(), nextUpdate: at - 1 }), 'revoked'],
    [
      'A-L2 revoked in a stale answer, good in a fresh one',
      async () =>
        judge([{ response: await answer({ status: revoked(), nextUpdate: at - 1 }) }, { response: await answer({}) }]),
      'revoked',
    ],
    [
      'A-L2 stale: a hold that may have been lifted',
      () => judgeOne({ status: revoked(6), nextUpdate: at - 1 }),
      'stale',
    ],
    [
      'A-L2 not revoked yet',
      async () => judge([{ response: await answer({ status: revoked() }) }], at - 9001),
      'stale',
    ],
    ['stale: past nextUpdate', () => judgeOne({ nextUpdate: at - 1 }), 'stale'],
    ['stale: of the future', () => judgeOne({ thisUpdate: at + 1 }), 'stale'],
    [
      'stale: no nextUpdate and older than an hour',
      () => judgeOne({ nextUpdate: null, thisUpdate: at - 3601 }),
      'stale',
    ],
    ['forged: another nonce', () => judgeOne({ nonce: nonce.with(0, 9) }, nonce), 'forged'],
    ['forged: no nonce', () => judgeOne({}, nonce), 'forged'],
    ['forged: a certificate without the purpose', () => judgeOne({ signer: notDelegate }), 'forged'],
    ["forged: another issuer's delegate", () => judgeOne({ signer: foreignDelegate }), 'forged'],
    ['forged: another issuer itself', () => judgeOne({ signer: other }), 'forged'],
    ['forged: an expired delegate', () => judgeOne({ signer: oldDelegate }), 'forged'],
    ['forged: the delegate is not attached', () => judgeOne({ attach: [issuer] }), 'forged'],
    ['missing: about another certificate', () => judgeOne({ about: issuer.certificate }), 'missing'],
    ['missing: the serial under another issuer', () => judgeOne({ under: other.certificate }), 'missing'],
    ['missing: none given', () => judge([]), 'missing'],
  ];
  it.each(cases)('%s', async (_, run, expected) => {
    expect(await run()).toBe(expected);
  });

  it('takes the gravest current answer, wherever it stands', async () => {
    const answers = await Promise.all(
      [{ status: unknown }, {}, { status: revoked(6) }, { status: revoked() }, { nextUpdate: at - 1 }].map(answer),
    );
    const list = answers.map((response) => ({ response }));
    expect(await judge(list)).toBe('revoked');
    expect(await judge(list.slice(0, 3))).toBe('on-hold');
    expect(await judge(list.slice(0, 2))).toBe('unknown');
    expect(await judge([list[4]!, list[1]!])).toBe('good');
  });

  it('takes no altered answer: bit flips and truncations', async () => {
    const response = await answer({ nonce });
    expect(await judge([{ response, nonce }])).toBe('good');
    for (let offset = 0; offset < response.length; offset++) {
      const flipped = response.with(offset, response[offset]! ^ (1 << (offset % 8)));
      expect(await judge([{ response: flipped, nonce }]), `byte ${offset}`).not.toBe('good');
      const cut = await judge([{ response: response.subarray(0, offset), nonce }]);
      expect(cut, `length ${offset}`).toBe('forged');
    }
    expect(await judge([{ response: concatBytes(response, Uint8Array.of(0)), nonce }])).toBe('forged');
    expect(await judge([{ response: new Uint8Array(20_000), nonce }])).toBe('forged');
  });

  it('an error status is no answer', async () => {
    for (const status of [1, 2, 3, 6]) {
      expect(await judge([{ response: der(0x30, der(0x0a, Uint8Array.of(status))) }])).toBe('missing');
    }
  });

  it('refuses a critical extension that it does not know', async () => {
    const extension = der(0x30, oid('2a0304'), der(0x01, Uint8Array.of(0xff)), der(0x04, der(0x05)));
    expect(await judgeOne({ extension })).toBe('forged');
  });

  it('node:crypto agrees with the signature', async () => {
    const { signed, signature } = parseOcspResponse(await answer());
    const { publicKey } = new X509Certificate(delegate.certificate.raw);
    expect(nodeVerify('sha384', signed, publicKey, signature)).toBe(true);
  });
});
