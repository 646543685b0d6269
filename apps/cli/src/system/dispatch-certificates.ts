/**
 * Mutual TLS between control plane and nodes on one's own machines: an authority made for development and thrown away
 * with the keys it signed for. Every name says so; nobody should trust it for anything else.
 */
import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';
import { writeWhole } from '#libs/client/files';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const daysValid = 30;
const dayMs = 86_400_000;

/** PEM files. */
export interface CertificateFiles {
  readonly key: string;
  readonly cert: string;
  readonly ca: string;
}

export interface DispatchCertificates {
  readonly server: CertificateFiles;
  /** Certificates by the id of the API key that each may be used with. */
  readonly nodes: Readonly<Record<string, CertificateFiles>>;
}

/**
 * @param hosts  names and addresses of the control plane that nodes dial
 * @param apiKeyIds  the part between the underscores of `vt_ID_SECRET`
 */
export async function makeDispatchCertificates(
  folder: string,
  hosts: readonly string[],
  apiKeyIds: readonly string[],
): Promise<DispatchCertificates> {
  x509.cryptoProvider.set(globalThis.crypto);
  const keys = await newKeys();
  const name = 'CN=Veritrain development authority (test)';
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity(),
    serialNumber: serial(),
    name,
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  });
  const ca = join(folder, 'authority.test-cert.pem');
  writeWhole(ca, authority.toString('pem'));

  async function issue(file: string, commonName: string, extensions: x509.Extension[]): Promise<CertificateFiles> {
    const own = await newKeys();
    const certificate = await x509.X509CertificateGenerator.create({
      ...validity(),
      serialNumber: serial(),
      subject: `CN=${commonName}`,
      issuer: name,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        ...extensions,
      ],
    });
    const files = { key: join(folder, `${file}.test-key.pem`), cert: join(folder, `${file}.test-cert.pem`), ca };
    writeWhole(files.cert, certificate.toString('pem'));
    const secret = await webcrypto.subtle.exportKey('pkcs8', own.privateKey);
    writeWhole(files.key, x509.PemConverter.encode(secret, 'PRIVATE KEY'), 0o600);
    return files;
  }

  const names = hosts.map((host) => ({
    type: /^[\d.]+$|:/.test(host) ? ('ip' as const) : ('dns' as const),
    value: host,
  }));
  const server = await issue('dispatch', 'Veritrain dispatch (test)', [
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    new x509.SubjectAlternativeNameExtension(names),
  ]);
  const nodes: Record<string, CertificateFiles> = {};
  for (const id of apiKeyIds) {
    const usage = new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]);
    nodes[id] = await issue(`node-${id}`, id, [usage]);
  }
  return { server, nodes };
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

function validity(): { readonly notBefore: Date; readonly notAfter: Date } {
  const now = Date.now();
  return { notBefore: new Date(now - dayMs), notAfter: new Date(now + daysValid * dayMs) };
}

function serial(): string {
  return `01${randomBytes(15).toString('hex')}`;
}
