/**
 * A made-up GPU vendor with test keys: device chain, signed reports, reference manifests and OCSP answers in the real
 * forms, under roots that only tests pin.
 */
import 'reflect-metadata';
import { createHash, createSign, type webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { concatBytes, fromHex, toBase64, toHex, uintBe, utf8 } from '../../attestation/src/base/bytes.js';
import { canonicalize, parseXml, type XmlElement } from '../../attestation/src/nvidia/xml.js';
import { parseCertificate, type Certificate } from '../../attestation/src/x509/certificate.js';

const algorithm = { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' };
const validity = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2027-01-01T00:00:00Z') };

function der(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const content = concatBytes(...parts);
  const size =
    content.length > 0xff ? Uint8Array.of(0x82, ...uintBe(content.length, 2)) : Uint8Array.of(0x81, content.length);
  return concatBytes(Uint8Array.of(tag), content.length < 0x80 ? Uint8Array.of(content.length) : size, content);
}
const oid = (hex: string): Uint8Array => der(0x06, fromHex(hex));
const le = (value: number, size: number): Uint8Array => uintBe(value, size).reverse();
const sha = (name: string, bytes: Uint8Array): Uint8Array => new Uint8Array(createHash(name).update(bytes).digest());
const generalized = (unix: number): Uint8Array =>
  der(0x18, utf8(new Date(unix * 1000).toISOString().replace(/[-:T]|\.\d+/g, '')));

interface FakeSigner {
  readonly keys: webcrypto.CryptoKeyPair;
  readonly certificate: Certificate;
}

async function issue(name: string, from: FakeSigner | undefined, extensions: x509.Extension[]): Promise<FakeSigner> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const made = await x509.X509CertificateGenerator.create({
    subject: `CN=${name}`,
    issuer: from?.certificate.subjectText ?? `CN=${name}`,
    publicKey: keys.publicKey,
    signingKey: (from?.keys ?? keys).privateKey,
    signingAlgorithm: algorithm,
    extensions,
    ...validity,
  });
  return { keys, certificate: parseCertificate(new Uint8Array(made.rawData)) };
}

async function sign(keys: webcrypto.CryptoKeyPair, message: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.sign(algorithm, keys.privateKey, message as Uint8Array<ArrayBuffer>));
}

export interface FakeReport {
  readonly nonce: Uint8Array;
  /** By RIM index; every value 48 bytes. */
  readonly measurements: ReadonlyMap<number, Uint8Array>;
  readonly driver: string;
  /** As in the opaque data, for example 009f009601000000. */
  readonly vbios: string;
  readonly nvdec0?: number;
  /** Null leaves the field out, as old firmware does; by default the one that the leaf certifies. */
  readonly fwid?: Uint8Array | null;
}

export interface FakeNvidia {
  /** Leaf first. */
  readonly device: readonly FakeSigner[];
  readonly rimSigner: readonly FakeSigner[];
  readonly fwid: Uint8Array;
  readonly pins: { readonly device: readonly string[]; readonly rim: readonly string[] };
  report(wanted: FakeReport): Promise<Uint8Array>;
  rim(version: string, golden: ReadonlyMap<number, Uint8Array>): Promise<Uint8Array>;
  /** An answer by the issuer itself; reason 6 is certificateHold. */
  ocsp(subject: Certificate, issuer: FakeSigner, at: number, revokedFor?: number): Promise<Uint8Array>;
}

export async function createFakeNvidia(): Promise<FakeNvidia> {
  const ca = new x509.BasicConstraintsExtension(true, undefined, true);
  const signs = new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true);
  const root = await issue('test device root', undefined, [ca]);
  const identity = await issue('test GH100 Identity', root, [ca]);
  const brom = await issue('test GH100 BROM', identity, [ca]);
  const fwid = sha('sha384', utf8('test firmware'));
  const name = der(0xa0, oid('2b06010401831c821201'), der(0xa0, der(0x0c, utf8('NVIDIA:GH100:00112233445566AA'))));
  const hash = der(0x30, oid('608648016503040202'), der(0x04, fwid));
  const composite = der(0x30, der(0x02, Uint8Array.of(1)), brom.certificate.spki, hash);
  const leaf = await issue('test GH100 FMC', brom, [
    signs,
    new x509.Extension('2.5.29.17', false, der(0x30, name) as Uint8Array<ArrayBuffer>),
    new x509.Extension('2.23.133.5.4.1', false, composite as Uint8Array<ArrayBuffer>),
  ]);
  const rimRoot = await issue('test RIM root', undefined, [ca]);
  const rimSigner = await issue('test RIM signer', rimRoot, [signs]);
  return {
    device: [leaf, brom, identity, root],
    rimSigner: [rimSigner, rimRoot],
    fwid,
    pins: { device: [root.certificate.spkiSha256], rim: [rimRoot.certificate.spkiSha256] },
    report: (wanted) => buildReport(leaf, wanted.fwid === undefined ? { ...wanted, fwid } : wanted),
    rim: (version, golden) => buildRim([rimSigner, rimRoot], version, golden),
    ocsp: buildOcsp,
  };
}

async function buildReport(leaf: FakeSigner, wanted: FakeReport): Promise<Uint8Array> {
  const blocks = [...wanted.measurements].map(([index, value]) =>
    concatBytes(Uint8Array.of(index + 1, 1), le(value.length + 3, 2), Uint8Array.of(1), le(value.length, 2), value),
  );
  const field = (type: number, value: Uint8Array): Uint8Array => concatBytes(le(type, 2), le(value.length, 2), value);
  const opaque = concatBytes(
    field(6, fromHex(wanted.vbios)),
    field(3, utf8(`${wanted.driver}\0`)),
    ...[17, 18, 15].map((type) => field(type, utf8('1\0'))),
    field(11, Uint8Array.of(wanted.nvdec0 ?? 0x55)),
    ...(wanted.fwid ? [field(20, wanted.fwid)] : []),
  );
  const signed = concatBytes(
    fromHex('11e001ff'),
    wanted.nonce,
    fromHex('0011600000'),
    Uint8Array.of(blocks.length),
    le(
      blocks.reduce((sum, block) => sum + block.length, 0),
      3,
    ),
    ...blocks,
    new Uint8Array(32),
    le(opaque.length, 2),
    opaque,
  );
  return concatBytes(signed, await sign(leaf.keys, signed));
}

async function buildRim(
  chain: readonly FakeSigner[],
  version: string,
  golden: ReadonlyMap<number, Uint8Array>,
): Promise<Uint8Array> {
  const swid = 'http://standards.iso.org/iso/19770/-2/2015/schema.xsd';
  const ds = 'http://www.w3.org/2000/09/xmldsig#';
  const resources = [...golden].map(
    ([index, value]) =>
      `<Resource type="Measurement" index="${index}" active="True" alternatives="1" h:Hash0="${toHex(value)}" name="m" size="48"/>`,
  );
  const head = `<SoftwareIdentity xmlns="${swid}" xmlns:h="http://www.w3.org/2001/04/xmlenc#sha384" tagId="test"><Meta colloquialVersion="${version}" product="GH100"/><Payload>${resources.join('')}</Payload>`;
  const digest = sha('sha384', canonicalize(parseXml(`${head}</SoftwareIdentity>`)));
  const algorithmOf = (tag: string, name: string): string => `<ds:${tag} Algorithm="${name}"/>`;
  const c14n = 'http://www.w3.org/2006/12/xml-c14n11';
  const more = 'http://www.w3.org/2001/04/xmldsig-more#';
  const transforms = algorithmOf('Transform', `${ds}enveloped-signature`) + algorithmOf('Transform', c14n);
  const reference = `<ds:Reference URI=""><ds:Transforms>${transforms}</ds:Transforms>${algorithmOf('DigestMethod', `${more}sha384`)}<ds:DigestValue>${toBase64(digest)}</ds:DigestValue></ds:Reference>`;
  const methods = algorithmOf('CanonicalizationMethod', c14n) + algorithmOf('SignatureMethod', `${more}ecdsa-sha384`);
  const signedInfo = `<ds:SignedInfo>${methods}${reference}</ds:SignedInfo>`;
  const open = `${head}<ds:Signature xmlns:ds="${ds}">${signedInfo}`;
  const document = parseXml(`${open}</ds:Signature></SoftwareIdentity>`);
  const message = canonicalize((document.children.at(-1) as XmlElement).children[0] as XmlElement);
  const value = `<ds:SignatureValue>${toBase64(await sign(chain[0]!.keys, message))}</ds:SignatureValue>`;
  const certificates = chain.map(
    ({ certificate }) => `<ds:X509Certificate>${toBase64(certificate.raw)}</ds:X509Certificate>`,
  );
  return utf8(
    `${open}${value}<ds:KeyInfo><ds:X509Data>${certificates.join('')}</ds:X509Data></ds:KeyInfo></ds:Signature></SoftwareIdentity>`,
  );
}

async function buildOcsp(
  subject: Certificate,
  issuer: FakeSigner,
  at: number,
  revokedFor?: number,
): Promise<Uint8Array> {
  const key = issuer.certificate.spki.subarray(-97);
  const id = der(
    0x30,
    der(0x30, oid('2b0e03021a'), der(0x05)),
    der(0x04, sha('sha1', issuer.certificate.subject)),
    der(0x04, sha('sha1', key)),
    der(0x02, fromHex(subject.serial)),
  );
  const status =
    revokedFor === undefined
      ? der(0x80)
      : der(0xa1, generalized(at - 60), der(0xa0, der(0x0a, Uint8Array.of(revokedFor))));
  const single = der(0x30, id, status, generalized(at - 60), der(0xa0, generalized(at + 60)));
  const data = der(0x30, der(0xa1, issuer.certificate.subject), generalized(at - 60), der(0x30, single));
  const pkcs8 = Buffer.from(await crypto.subtle.exportKey('pkcs8', issuer.keys.privateKey));
  const signature = createSign('sha384').update(data).sign({ key: pkcs8, format: 'der', type: 'pkcs8' });
  const bits = der(0x03, Uint8Array.of(0), new Uint8Array(signature));
  const basic = der(0x30, data, der(0x30, oid('2a8648ce3d040303')), bits);
  return der(0x30, der(0x0a, Uint8Array.of(0)), der(0xa0, der(0x30, oid('2b0601050507300101'), der(0x04, basic))));
}
