import 'reflect-metadata';
import { createHash, verify as nodeVerify, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import * as x509 from '@peculiar/x509';
import { describe, expect, it } from 'vitest';
import { toBase64, toHex, utf8 } from '../base/bytes.js';
import { parseCertificate } from '../x509/certificate.js';
import { nvidiaPins } from './constants.js';
import { parseManifest } from './manifest.js';
import { judgeRim, rimReader } from './rim.js';
import { canonicalize, parseXml, type XmlElement } from './xml.js';

const folder = `${process.env['VERITRAIN_VECTORS'] ?? '../shared/vectors'}/nvidia-gpu`;
const present = existsSync(folder);
if (!present) console.warn(`SKIPPED: no samples at ${folder}`);
const real = present ? readFileSync(`${folder}/h100-550.90.07-full/driver-rim.xml`, 'utf8') : '';
const otherRim = present ? readFileSync(`${folder}/rim-driver-gh100-550.144.03/rim.xml`, 'utf8') : '';
const at = Date.parse('2026-03-01T00:00:00Z') / 1000;
const pinned = new Set<string>(nvidiaPins.rim);

/** Aspects that are not met, with what was seen. */
async function faults(xml: string | Uint8Array, rootSpkiSha256: ReadonlySet<string> = pinned): Promise<string[]> {
  const [file] = await rimReader([typeof xml === 'string' ? utf8(xml) : xml])();
  const judged = await judgeRim(file!, { pool: [], rootSpkiSha256, at, graceSeconds: 0 });
  const bad = [...judged.outcomes].filter(([, outcome]) => outcome.status !== 'met');
  expect(judged.authentic).toBe(!bad.some(([, outcome]) => outcome.status === 'forged'));
  return bad.map(([aspect, outcome]) => `${aspect} ${outcome.got}`);
}

const signature = real.slice(real.indexOf('<ds:Signature'), real.indexOf('</ds:Signature>') + '</ds:Signature>'.length);
const body = real.slice(0, real.indexOf('<ds:Signature'));
const edit = (from: string | RegExp, to: string, text = real): string => {
  const out = text.replace(from, to);
  expect(out).not.toBe(text);
  return out;
};

describe('the reader of manifests', () => {
  it('takes no document that makes it hold a map of thousands of namespaces an element', () => {
    const declared = (count: number): string =>
      `<a ${Array.from({ length: count }, (_, at) => `xmlns:p${at}="n"`).join(' ')}><b/></a>`;
    expect(parseXml(declared(16)).children).toHaveLength(1);
    expect(() => parseXml(declared(17))).toThrow(/16 namespaces/);
  });
});

describe.skipIf(!present)('judgeRim on altered real manifests', () => {
  it('accepts the original', async () => {
    expect(await faults(real)).toEqual([]);
    expect(await faults(`<?xml version="1.0" encoding="UTF-8"?>\n${real}`)).toEqual([]);
  });

  it.each([
    ['a changed hash', () => edit(/Hash0="[0-9a-f]{4}/, 'Hash0="beef'), /^SIGNATURE NVIDIA_RIM_DIGEST/],
    ['a changed version', () => edit('550.90.07', '550.90.08'), /^SIGNATURE NVIDIA_RIM_DIGEST/],
    ['an activated entry', () => edit('active="False"', 'active="True"'), /^SIGNATURE NVIDIA_RIM_DIGEST/],
    ['an added attribute', () => edit('patch="false"', 'patch="false" x="y"'), /^SIGNATURE NVIDIA_RIM_DIGEST/],
    ['white space inside', () => edit('<ns0:Entity', ' <ns0:Entity'), /^SIGNATURE NVIDIA_RIM_DIGEST/],
    ['another prefix', () => real.replaceAll('ns0:', 'n0:').replace('xmlns:ns0', 'xmlns:n0'), /NVIDIA_RIM_DIGEST/],
    ['text after the signature', () => edit('</SoftwareIdentity>', 'x</SoftwareIdentity>'), /NVIDIA_RIM_DIGEST/],
    ['a second signature', () => edit('</SoftwareIdentity>', `${signature}</SoftwareIdentity>`), /SIGNATURE_FORM/],
    [
      'a signature of another name space',
      () => edit('</SoftwareIdentity>', '<Signature/></SoftwareIdentity>'),
      /_FORM/,
    ],
    ['no signature', () => `${body}</SoftwareIdentity>`, /SIGNATURE_FORM/],
    [
      'a hidden signature',
      () => edit('</ns0:Payload>', '<ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#"/></ns0:Payload>'),
      /FORM/,
    ],
    [
      'the signature inside the payload',
      () => `${body.replace('</ns0:Payload>', `${signature}</ns0:Payload>`)}</SoftwareIdentity>`,
      /_FORM/,
    ],
    [
      'an outer wrapper',
      () =>
        `<SoftwareIdentity xmlns="http://standards.iso.org/iso/19770/-2/2015/schema.xsd">${real.trim()}</SoftwareIdentity>`,
      /_FORM/,
    ],
    ['another element referred to', () => edit('URI=""', 'URI="#a"'), /SIGNATURE_FORM/],
    ['no reference', () => edit(/<ds:Reference.*<\/ds:Reference>/s, ''), /SIGNATURE_FORM/],
    ['two references', () => edit(/(<ds:Reference.*<\/ds:Reference>)/s, '$1$1'), /SIGNATURE_FORM/],
    ['another transform', () => edit('xmldsig#enveloped-signature', 'xmldsig#base64'), /SIGNATURE_FORM/],
    [
      'a third transform',
      () =>
        edit(
          '</ds:Transforms>',
          '<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"/></ds:Transforms>',
        ),
      /_FORM/,
    ],
    [
      'another canonical form',
      () => edit('xml-c14n11"/><ds:SignatureMethod', 'xml-c14n11#WithComments"/><ds:SignatureMethod'),
      /_FORM/,
    ],
    ['a weaker digest', () => edit('xmldsig-more#sha384', 'xmldsig#sha1'), /SIGNATURE_FORM/],
    ['HMAC', () => edit('xmldsig-more#ecdsa-sha384', 'xmldsig-more#hmac-sha384'), /SIGNATURE_FORM/],
    ['an object beside', () => edit('</ds:Signature>', '<ds:Object/></ds:Signature>'), /SIGNATURE_FORM/],
    ['an Id', () => edit('<ds:Signature ', '<ds:Signature Id="a" '), /SIGNATURE_FORM/],
    ['no certificate', () => edit(/<ds:X509Certificate>.*<\/ds:X509Certificate>/s, ''), /SIGNATURE_FORM/],
    ['a comment', () => edit('<ns0:Meta', '<!-- a --><ns0:Meta'), /NVIDIA_RIM_XML/],
    ['a comment in a value', () => edit(/(<ds:DigestValue>.{9})/, '$1<!-- -->'), /NVIDIA_RIM_XML/],
    ['a DTD', () => `<!DOCTYPE SoftwareIdentity>${real}`, /NVIDIA_RIM_XML/],
    ['an entity', () => `<!DOCTYPE a [<!ENTITY v "550.90.07">]>${edit('550.90.07', '&v;')}`, /NVIDIA_RIM_XML/],
    ['a predefined entity', () => edit('NVIDIA Corporation', 'NVIDIA &amp; Co'), /NVIDIA_RIM_XML/],
    ['a character reference', () => edit('550.90.07', '550.90.0&#55;'), /NVIDIA_RIM_XML/],
    ['CDATA', () => edit('</ns0:Payload>', '<![CDATA[x]]></ns0:Payload>'), /NVIDIA_RIM_XML/],
    ['a processing instruction', () => edit('<ns0:Meta', '<?a b?><ns0:Meta'), /NVIDIA_RIM_XML/],
    ['xml:base', () => edit('patch="false"', 'patch="false" xml:base="http://a"'), /NVIDIA_RIM_XML/],
    ['xml:id', () => edit('patch="false"', 'patch="false" xml:id="a"'), /NVIDIA_RIM_XML/],
    ['an attribute twice', () => edit('patch="false"', 'patch="false" patch="true"'), /NVIDIA_RIM_XML/],
    ['an attribute twice by name space', () => edit(' ns2:Hash0', ' SHA384:Hash0="00" ns2:Hash0'), /NVIDIA_RIM_XML/],
    ['an unknown prefix', () => edit('<ns0:Entity', '<zz:Entity'), /NVIDIA_RIM_XML/],
    ['an undeclared default', () => edit('<ns0:Entity', '<ns0:Entity xmlns=""'), /NVIDIA_RIM_XML/],
    ['carriage returns', () => real.replaceAll('\n', '\r\n'), /NVIDIA_RIM_XML/],
    ['single quotes', () => edit('patch="false"', "patch='false'"), /NVIDIA_RIM_XML/],
    ['a byte order mark', () => `\ufeff${real}`, /NVIDIA_RIM_XML/],
    ['two roots', () => `${real}<a/>`, /NVIDIA_RIM_XML/],
    ['an open root', () => edit('</SoftwareIdentity>', ''), /NVIDIA_RIM_XML/],
    ['crossed ends', () => edit('</ns0:Payload>', '</ns0:Payloads>'), /NVIDIA_RIM_XML/],
    ['nesting without end', () => '<a>'.repeat(5000), /NVIDIA_RIM_XML/],
    ['nothing', () => '', /NVIDIA_RIM_XML/],
    ['too many bytes', () => real + ' '.repeat(256 * 1024), /NVIDIA_RIM_SIZE/],
  ])('refuses %s', async (_, make, code) => {
    const found = await faults(make());
    expect(found.length).toBeGreaterThan(0);
    expect(found.join(' | ')).toMatch(code);
  });

  it('refuses text that is not UTF-8', async () => {
    expect(await faults(utf8(real).with(100, 0xff))).toEqual([expect.stringMatching(/BYTES_UTF8/)]);
  });

  it('refuses r and s reversed and a signature of another manifest', async () => {
    const value = /<ds:SignatureValue>([^<]*)/.exec(real)![1]!;
    const raw = Buffer.from(value, 'base64');
    const reversed = Buffer.concat([raw.subarray(48), raw.subarray(0, 48)]).toString('base64');
    expect(await faults(edit(value, reversed))).toEqual([expect.stringMatching(/^SIGNATURE SIGNATURE_/)]);
    const other = otherRim.slice(otherRim.indexOf('<ds:Signature'), otherRim.indexOf('</SoftwareIdentity>'));
    expect(await faults(`${body}${other}</SoftwareIdentity>`)).toEqual([expect.stringMatching(/NVIDIA_RIM_DIGEST/)]);
  });

  it('refuses a flipped bit anywhere', async () => {
    const bytes = utf8(real.trimEnd());
    for (let n = 0; n < 700; n++) {
      const offset = (n * 7919) % bytes.length;
      const found = await faults(bytes.with(offset, bytes[offset]! ^ (1 << (n % 8))));
      expect(found.length, `bit ${n % 8} of byte ${offset}`).toBeGreaterThan(0);
    }
  }, 60_000);

  it('refuses every truncation', async () => {
    const bytes = utf8(real.trimEnd());
    for (let length = 0; length < bytes.length; length += 97) {
      expect((await faults(bytes.subarray(0, length))).length, `${length}`).toBeGreaterThan(0);
    }
  });

  it('agrees with node:crypto', () => {
    const manifest = parseManifest(utf8(real));
    const { document, element, signedInfo, digest, signature: raw, certificates } = manifest.signature;
    expect(createHash('sha384').update(canonicalize(document, element)).digest('hex')).toBe(toHex(digest));
    const key = { key: new X509Certificate(certificates[0]!).publicKey, dsaEncoding: 'ieee-p1363' } as const;
    expect(nodeVerify('sha384', canonicalize(signedInfo), key, raw)).toBe(true);
    const chain = certificates.map((der) => new X509Certificate(der));
    chain.slice(0, -1).forEach((child, n) => expect(child.verify(chain[n + 1]!.publicKey)).toBe(true));
  });
});

describe.skipIf(!present)('a manifest signed by somebody else', () => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' };

  /** The real body, changed, signed by a self-made test key with a self-signed test root. */
  async function resigned(from: string, to: string): Promise<{ xml: string; pin: string }> {
    const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const signerKeys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const validity = { notBefore: new Date('2026-01-01T00:00:00Z'), notAfter: new Date('2027-01-01T00:00:00Z') };
    const root = await x509.X509CertificateGenerator.createSelfSigned({
      name: 'CN=test RIM root',
      keys,
      ...validity,
      signingAlgorithm: algorithm,
      extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
    });
    const signer = await x509.X509CertificateGenerator.create({
      subject: 'CN=test RIM signer',
      issuer: root.subject,
      publicKey: signerKeys.publicKey,
      signingKey: keys.privateKey,
      ...validity,
      signingAlgorithm: algorithm,
      extensions: [new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true)],
    });
    const changed = edit(from, to);
    const find = (document: XmlElement): XmlElement => document.children.find(isSignature) as XmlElement;
    const isSignature = (child: XmlElement | string): boolean =>
      typeof child !== 'string' && child.local === 'Signature';
    const unsigned = parseXml(changed);
    const digest = createHash('sha384')
      .update(canonicalize(unsigned, find(unsigned)))
      .digest('base64');
    const digested = edit(/<ds:DigestValue>[^<]*/, `<ds:DigestValue>${digest}`, changed);
    const signedInfo = find(parseXml(digested)).children[0] as XmlElement;
    const message = canonicalize(signedInfo) as Uint8Array<ArrayBuffer>;
    const value = toBase64(new Uint8Array(await crypto.subtle.sign(algorithm, signerKeys.privateKey, message)));
    const chain = [signer, root].map((item) => `<ds:X509Certificate>${item.toString('base64')}</ds:X509Certificate>`);
    const withValue = edit(/<ds:SignatureValue>[^<]*/, `<ds:SignatureValue>${value}`, digested);
    const xml = edit(/<ds:X509Certificate>.*<\/ds:X509Certificate>/s, chain.join(''), withValue);
    return { xml, pin: parseCertificate(new Uint8Array(root.rawData)).spkiSha256 };
  }

  it('holds under its own root and is refused under the real one', async () => {
    const { xml, pin } = await resigned('550.90.07', '550.90.99');
    expect(await faults(xml, new Set([pin]))).toEqual([]);
    expect(await faults(xml)).toEqual([expect.stringMatching(/^ISSUER X509_PATH_ROOT/)]);
  });

  it.each([
    ['no active measurement', / active="True"/g, ' active="False"'],
    ['an index twice', /index="1"/, 'index="0"'],
    ['an index out of range', /index="63"/, 'index="254"'],
    ['an index with a leading zero', /index="63"/, 'index="063"'],
    ['fewer hashes than alternatives', /alternatives="1"/, 'alternatives="2"'],
    ['a hash of another size', /size="48"/, 'size="32"'],
    ['no version', /colloquialVersion/, 'version'],
    ['another state', /active="True"/, 'active="true"'],
    ['another type', /type="Measurement"/, 'type="File"'],
    ['two payloads', /<\/ns0:Payload>/, '</ns0:Payload><ns0:Payload></ns0:Payload>'],
  ])('content: refuses %s', (_, from, to) => {
    expect(() => parseManifest(utf8(edit(from, to)))).toThrow(/NVIDIA_RIM_CONTENT/);
  });
});

it('the canonical form sorts and expands as Canonical XML says', () => {
  const text =
    '<b:a z="1" xmlns:b="urn:b" b:y="2"  xmlns="urn:d" a="3" ><c/>text<d xmlns:b="urn:b" xmlns="urn:e"/></b:a>';
  const root = parseXml(text);
  const expected = '<b:a xmlns="urn:d" xmlns:b="urn:b" a="3" z="1" b:y="2"><c></c>text<d xmlns="urn:e"></d></b:a>';
  expect(new TextDecoder().decode(canonicalize(root))).toBe(expected);
  const inner = root.children[2] as XmlElement;
  expect(new TextDecoder().decode(canonicalize(inner))).toBe('<d xmlns="urn:e" xmlns:b="urn:b"></d>');
});
