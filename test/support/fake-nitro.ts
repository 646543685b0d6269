/** A test AWS: root, regional and instance CAs, leaf, and attestation documents encoded with cbor-x. */
import 'reflect-metadata';
import { createHash, type webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { Encoder } from 'cbor-x';

x509.cryptoProvider.set(globalThis.crypto);
const curve = { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' } as const;
const encoder = new Encoder({ useRecords: false, variableMapSize: true, mapsAsObjects: false, tagUint8Array: false });
export const fakeNitroAt = Date.parse('2025-06-19T12:00:00Z') / 1000;

interface Party {
  readonly keys: webcrypto.CryptoKeyPair;
  readonly certificate: x509.X509Certificate;
}

let serial = 16;
async function party(name: string, issuer: Party | undefined, ca: boolean): Promise<Party> {
  const keys = (await crypto.subtle.generateKey(curve, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const usage = ca ? x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign : x509.KeyUsageFlags.digitalSignature;
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: (serial++).toString(16),
    subject: `CN=${name}`,
    issuer: issuer?.certificate.subject ?? `CN=${name}`,
    publicKey: keys.publicKey,
    signingKey: (issuer?.keys ?? keys).privateKey,
    signingAlgorithm: curve,
    notBefore: new Date((fakeNitroAt - 3600) * 1000),
    notAfter: new Date((fakeNitroAt + 7200) * 1000),
    extensions: [new x509.BasicConstraintsExtension(ca, undefined, true), new x509.KeyUsagesExtension(usage, true)],
  });
  return { keys, certificate };
}

export interface FakeNitroOptions {
  /** Replaces fields of the payload; `undefined` removes one. */
  readonly payload?: Readonly<Record<string, unknown>>;
  readonly cabundle?: (bundle: Uint8Array[]) => Uint8Array[];
  readonly protectedHeader?: Uint8Array;
  readonly unprotected?: Map<number, unknown>;
  /** Changes the whole encoded document. */
  readonly encode?: (document: Uint8Array) => Uint8Array;
}

export async function fakeNitro(options: FakeNitroOptions = {}) {
  const root = await party('test nitro root', undefined, true);
  const zone = await party('test nitro zone', root, true);
  const leaf = await party('test nitro leaf', zone, false);
  const der = ({ certificate }: Party) => new Uint8Array(certificate.rawData);
  const bundle = [der(root), der(zone)];
  const fields: Record<string, unknown> = {
    module_id: 'i-test-enc',
    digest: 'SHA384',
    timestamp: BigInt(fakeNitroAt * 1000 - 500),
    pcrs: new Map(Array.from({ length: 16 }, (_, i) => [i, new Uint8Array(48).fill(i + 1)])),
    certificate: der(leaf),
    cabundle: options.cabundle?.(bundle) ?? bundle,
    public_key: null,
    user_data: Uint8Array.of(1, 2, 3),
    nonce: Uint8Array.of(9, 9),
    ...options.payload,
  };
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  const payload = new Uint8Array(encoder.encode(new Map(entries)));
  const header = options.protectedHeader ?? Uint8Array.of(0xa1, 1, 0x38, 0x22);
  const toBeSigned = encoder.encode(['Signature1', header, new Uint8Array(), payload]);
  const signature = new Uint8Array(await crypto.subtle.sign(curve, leaf.keys.privateKey, Buffer.from(toBeSigned)));
  const document = new Uint8Array(encoder.encode([header, options.unprotected ?? new Map(), payload, signature]));
  const spki = Buffer.from(root.certificate.publicKey.rawData);
  return {
    document: options.encode?.(document) ?? document,
    at: fakeNitroAt,
    pins: new Set([createHash('sha256').update(spki).digest('hex')]),
  };
}
