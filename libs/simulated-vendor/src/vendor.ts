/**
 * A vendor hierarchy of the same form as AMD's, made on this machine: ARK → ASK → VCEK with the same extensions. Every
 * name says SIMULATED, and only a development policy that lists the ARK's key accepts it.
 */
import 'reflect-metadata';
import type { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { hwidBytes, productLayout, snpOids, type SnpProduct, type Tcb } from '#attestation';
import { ConfigurationError, fromBase64, toBase64, toHex } from '#attestation/base';

export interface SimulatedVendor {
  readonly product: SnpProduct;
  /** Certificates, DER. */
  readonly ark: Uint8Array;
  readonly ask: Uint8Array;
  readonly vcek: Uint8Array;
  /** What a development policy lists: SHA-256 of the ARK's SubjectPublicKeyInfo, hexadecimal. */
  readonly arkSpkiSha256: string;
  /** 64 bytes (Turin: 8). */
  readonly hwid: Uint8Array;
  /** 48 bytes that its reports state as MEASUREMENT, in the place of another image; absent: `simulatedMeasurement`. */
  readonly measurement?: Uint8Array;
  /** The TCB that the VCEK names; reports must state it as REPORTED_TCB. */
  readonly tcb: Tcb;
  /** Private keys, PKCS #8. */
  readonly arkKey: Uint8Array;
  readonly askKey: Uint8Array;
  readonly vcekKey: Uint8Array;
}

interface SimulatedVendorRequest {
  readonly product: SnpProduct;
  /** Unix seconds; certificates are good from an hour before. */
  readonly at: number;
  readonly tcb?: Tcb;
  readonly hwid?: Uint8Array;
}

const pss = { name: 'RSA-PSS', hash: 'SHA-384', saltLength: 48 } as const;
const rsa = { name: 'RSA-PSS', hash: 'SHA-384', modulusLength: 4096, publicExponent: Uint8Array.of(1, 0, 1) } as const;
const ecdsa = { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' } as const;
const year = 365 * 86_400;
const simulatedTcb: Readonly<Record<SnpProduct, Tcb>> = {
  Milan: { bootLoader: 4, tee: 0, snp: 24, microcode: 219 },
  Genoa: { bootLoader: 10, tee: 0, snp: 24, microcode: 84 },
  Turin: { fmc: 1, bootLoader: 1, tee: 1, snp: 4, microcode: 75 },
};

/** Makes a hierarchy. Two RSA-4096 keys: seconds. */
export async function createSimulatedVendor(request: SimulatedVendorRequest): Promise<SimulatedVendor> {
  const { product, at } = request;
  const tcb = request.tcb ?? simulatedTcb[product];
  const hwid = request.hwid ?? globalThis.crypto.getRandomValues(new Uint8Array(hwidBytes[product]));
  const { subtle } = globalThis.crypto;
  const arkKeys = await subtle.generateKey(rsa, true, ['sign', 'verify']);
  const askKeys = await subtle.generateKey(rsa, true, ['sign', 'verify']);
  const vcekKeys = await subtle.generateKey(ecdsa, true, ['sign', 'verify']);
  const arkName = simulatedName(`ARK-${product}`);
  const askName = simulatedName(`SEV-${product}`);
  const from = { notBefore: time(at - 3600), notAfter: time(at + 25 * year), signingAlgorithm: pss };
  const issuer = { issuer: arkName, signingKey: arkKeys.privateKey, ...from };
  const ark = await x509.X509CertificateGenerator.create({
    ...issuer,
    subject: arkName,
    publicKey: arkKeys.publicKey,
    serialNumber: '010000',
    extensions: caExtensions(1),
  });
  const ask = await x509.X509CertificateGenerator.create({
    ...issuer,
    subject: askName,
    publicKey: askKeys.publicKey,
    serialNumber: '010001',
    extensions: caExtensions(0),
  });
  const vcek = await x509.X509CertificateGenerator.create({
    issuer: askName,
    subject: simulatedName('SEV-VCEK'),
    publicKey: vcekKeys.publicKey,
    signingKey: askKeys.privateKey,
    serialNumber: '00',
    ...from,
    notAfter: time(at + 7 * year),
    extensions: [...tcbExtensions(product, tcb), new x509.Extension(snpOids.hwid, false, plain(hwid))],
  });
  const pkcs8 = async (key: webcrypto.CryptoKey): Promise<Uint8Array> =>
    new Uint8Array(await subtle.exportKey('pkcs8', key));
  return {
    product,
    ark: new Uint8Array(ark.rawData),
    ask: new Uint8Array(ask.rawData),
    vcek: new Uint8Array(vcek.rawData),
    arkSpkiSha256: toHex(
      new Uint8Array(await subtle.digest('SHA-256', await subtle.exportKey('spki', arkKeys.publicKey))),
    ),
    hwid,
    tcb,
    arkKey: await pkcs8(arkKeys.privateKey),
    askKey: await pkcs8(askKeys.privateKey),
    vcekKey: await pkcs8(vcekKeys.privateKey),
  };
}

/** Structure, product and SPL extensions of a leaf, in the form of AMD 57230. */
export function tcbExtensions(product: SnpProduct, tcb: Tcb): x509.Extension[] {
  const layout = productLayout[product];
  const integer = (oid: string, value: number): x509.Extension => new x509.Extension(oid, false, plain(derByte(value)));
  const name = Uint8Array.of(0x16, product.length, ...product.split('').map((letter) => letter.charCodeAt(0)));
  return [
    integer(snpOids.structVersion, layout),
    new x509.Extension(snpOids.productName, false, plain(name)),
    ...(['bootLoader', 'tee', 'snp', 'microcode'] as const).map((part) => integer(snpOids[part], tcb[part] ?? 0)),
    ...(layout === 0
      ? ([snpOids.spl4, snpOids.spl5, snpOids.spl6, snpOids.spl7] as const).map((oid) => integer(oid, 0))
      : [integer(snpOids.fmc, tcb.fmc ?? 0)]),
  ];
}

export function simulatedName(commonName: string): string {
  return `OU=SIMULATED, C=US, L=None, ST=CA, O=SIMULATED Silicon, CN=SIMULATED ${commonName}`;
}

/** A signer for `signSnpReport` from a P-384 key in PKCS #8. */
export function snpReportSigner(pkcs8: Uint8Array): (signed: Uint8Array) => Promise<Uint8Array> {
  return async (signed) => {
    const { subtle } = globalThis.crypto;
    const key = await subtle.importKey('pkcs8', plain(pkcs8), ecdsa, false, ['sign']);
    return new Uint8Array(await subtle.sign(ecdsa, key, plain(signed)));
  };
}

const byteFields = ['ark', 'ask', 'vcek', 'hwid', 'arkKey', 'askKey', 'vcekKey'] as const;

/** JSON text with the private keys in it: keep it like a key. */
export function encodeSimulatedVendor(vendor: SimulatedVendor): string {
  const { product, arkSpkiSha256, tcb, measurement } = vendor;
  const bytes = Object.fromEntries(byteFields.map((name) => [name, toBase64(vendor[name])]));
  const measured = measurement && { measurement: toBase64(measurement) };
  return JSON.stringify({ product, arkSpkiSha256, tcb, ...bytes, ...measured }, null, 1);
}

/** @throws ConfigurationError SIMULATED_VENDOR_FILE */
export function parseSimulatedVendor(text: string): SimulatedVendor {
  try {
    const value = JSON.parse(text) as Record<string, unknown>;
    const bytes = Object.fromEntries(byteFields.map((name) => [name, fromBase64(String(value[name]))]));
    if (!(String(value['product']) in simulatedTcb) || typeof value['tcb'] !== 'object')
      throw new TypeError('product, tcb');
    const measurement = value['measurement'] === undefined ? undefined : fromBase64(String(value['measurement']));
    if (measurement !== undefined && measurement.length !== 48) throw new TypeError('measurement of 48 bytes');
    return {
      product: value['product'],
      arkSpkiSha256: value['arkSpkiSha256'],
      tcb: value['tcb'],
      ...bytes,
      ...(measurement && { measurement }),
    } as SimulatedVendor;
  } catch (cause) {
    throw new ConfigurationError('SIMULATED_VENDOR_FILE', {
      expected: 'the JSON text written by encodeSimulatedVendor',
      got: cause instanceof Error ? cause.message : 'something else',
      rule: 'attestation/SPEC.md §8',
      action: 'make the simulated vendor anew',
    });
  }
}

function caExtensions(pathLength: number): x509.Extension[] {
  return [
    new x509.BasicConstraintsExtension(true, pathLength, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
  ];
}

function derByte(value: number): Uint8Array {
  return value < 0x80 ? Uint8Array.of(2, 1, value) : Uint8Array.of(2, 2, 0, value);
}

function time(seconds: number): Date {
  return new Date(seconds * 1000);
}

function plain(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>;
}
