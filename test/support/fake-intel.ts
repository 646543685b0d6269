/**
 * A test Intel: root, PCK CA, PCK, TCB signer, quoting enclave, quotes and collateral, all made on the spot. It knows
 * nothing of the verifier's code, so that a layout error there does not repeat here.
 */
import 'reflect-metadata';
import { createHash, type webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

x509.cryptoProvider.set(globalThis.crypto);
const curve = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const notBefore = new Date('2025-01-01T00:00:00Z');
const notAfter = new Date('2032-01-01T00:00:00Z');
const fakeAt = Date.parse('2025-06-19T12:00:00Z') / 1000;

export interface FakeOptions {
  /** Of an earlier platform; its own where absent. */
  readonly root?: FakeRoot;
  readonly kind?: 'sgx' | 'td10' | 'td15';
  readonly version?: 3 | 4 | 5;
  /** Fields of the body by offset. */
  readonly body?: readonly (readonly [offset: number, bytes: Uint8Array])[];
  readonly platform?: { readonly svn?: number; readonly pceSvn?: number };
  readonly tcbInfo?: Record<string, unknown>;
  readonly qeIdentity?: Record<string, unknown>;
  /** Certificates that the lists name. */
  readonly revoked?: 'pck' | 'pckCa' | 'tcbSigner';
  /** Who signs the collateral; the PCK must never pass. */
  readonly collateralSigner?: 'tcbSigner' | 'pck';
  readonly crlNextUpdate?: Date;
  /** Adds an outdated list of the PCK CA, empty or naming the PCK. */
  readonly olderPckList?: 'empty' | 'pck';
  readonly qeAttributes?: Uint8Array;
  /** The last 32 bytes of the QE's report data; zero in a good quote. */
  readonly qeReportDataTail?: Uint8Array;
}

const der = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const length =
    content.length < 128
      ? [content.length]
      : content.length < 256
        ? [0x81, content.length]
        : [0x82, content.length >> 8, content.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
};
/** 1.2.840.113741.1.13.1 and arcs below it. */
const oid = (...arcs: number[]) => der(6, Buffer.from([0x2a, 0x86, 0x48, 0x86, 0xf8, 0x4d, 0x01, 0x0d, 0x01, ...arcs]));
const pair = (arcs: number[], value: Buffer) => der(0x30, oid(...arcs), value);

function sgxExtension(svn: number, pceSvn: number): Uint8Array<ArrayBuffer> {
  const components = Array.from({ length: 16 }, (_, i) => pair([2, i + 1], der(2, Buffer.from([svn]))));
  const tcb = der(
    0x30,
    ...components,
    pair([2, 17], der(2, Buffer.from([pceSvn]))),
    pair([2, 18], der(4, Buffer.alloc(16, svn))),
  );
  const extension = der(
    0x30,
    pair([1], der(4, Buffer.alloc(16, 7))),
    pair([2], tcb),
    pair([3], der(4, Buffer.alloc(2))),
    pair([4], der(4, Buffer.from('b0c06f000000', 'hex'))),
    pair([5], der(10, Buffer.from([1]))),
  );
  return new Uint8Array(extension);
}

interface Party {
  readonly keys: webcrypto.CryptoKeyPair;
  readonly certificate: x509.X509Certificate;
}

export type FakeRoot = Party;

export const fakeIntelRoot = (): Promise<FakeRoot> => party('test Intel root', undefined, true);

let serial = 16;
async function party(
  name: string,
  issuer: Party | undefined,
  ca: boolean,
  extra: x509.Extension[] = [],
): Promise<Party> {
  const keys = (await crypto.subtle.generateKey(curve, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const usage = ca ? x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign : x509.KeyUsageFlags.digitalSignature;
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: (serial++).toString(16),
    subject: `CN=${name}`,
    issuer: issuer?.certificate.subject ?? `CN=${name}`,
    publicKey: keys.publicKey,
    signingKey: (issuer?.keys ?? keys).privateKey,
    signingAlgorithm: curve,
    notBefore,
    notAfter,
    extensions: [
      new x509.BasicConstraintsExtension(ca, undefined, true),
      new x509.KeyUsagesExtension(usage, true),
      ...extra,
    ],
  });
  return { keys, certificate };
}

const pem = (...parties: Party[]) => parties.map(({ certificate }) => `${certificate.toString('pem')}\n`).join('');
const sign = async (by: Party, data: Uint8Array) =>
  Buffer.from(await crypto.subtle.sign(curve, by.keys.privateKey, Buffer.from(data)));
const rawKey = async (of: webcrypto.CryptoKeyPair) =>
  Buffer.from(await crypto.subtle.exportKey('raw', of.publicKey)).subarray(1);
const u16 = (value: number) => Buffer.from([value & 255, value >> 8]);
const u32 = (value: number) => Buffer.concat([u16(value & 0xffff), u16(value >>> 16)]);

async function crl(issuer: Party, revoked: Party | undefined, nextUpdate: Date): Promise<Uint8Array> {
  const entries = revoked ? [{ serialNumber: revoked.certificate.serialNumber, revocationDate: notBefore }] : [];
  const list = await x509.X509CrlGenerator.create({
    issuer: issuer.certificate.subject,
    thisUpdate: notBefore,
    nextUpdate,
    entries,
    signingAlgorithm: curve,
    signingKey: issuer.keys.privateKey,
  });
  return new Uint8Array(list.rawData);
}

const bodySizes = { sgx: 384, td10: 584, td15: 648 };
const sixteen = (svn: number) => Array.from({ length: 16 }, () => ({ svn }));
const window = { issueDate: '2025-06-01T00:00:00Z', nextUpdate: '2025-07-01T00:00:00Z', tcbEvaluationDataNumber: 17 };
const upToDate = { tcbDate: '2024-03-13T00:00:00Z', tcbStatus: 'UpToDate' };
const anySigner = { mrsigner: '0'.repeat(96), attributes: '0'.repeat(16), attributesMask: 'F'.repeat(16) };

function documents(options: FakeOptions, tdx: boolean) {
  const tcbInfo = {
    id: tdx ? 'TDX' : 'SGX',
    version: 3,
    ...window,
    fmspc: 'B0C06F000000',
    pceId: '0000',
    tcbType: 0,
    ...(tdx && {
      tdxModule: anySigner,
      tdxModuleIdentities: [{ id: 'TDX_01', ...anySigner, tcbLevels: [{ tcb: { isvsvn: 4 }, ...upToDate }] }],
    }),
    tcbLevels: [
      { tcb: { sgxtcbcomponents: sixteen(5), pcesvn: 10, ...(tdx && { tdxtcbcomponents: sixteen(0) }) }, ...upToDate },
    ],
    ...options.tcbInfo,
  };
  const qeIdentity = {
    id: tdx ? 'TD_QE' : 'QE',
    version: 2,
    ...window,
    miscselect: '00000000',
    miscselectMask: 'FFFFFFFF',
    attributes: `11${'0'.repeat(30)}`,
    attributesMask: `FB${'F'.repeat(14)}${'0'.repeat(16)}`,
    mrsigner: 'dc'.repeat(32),
    isvprodid: 2,
    tcbLevels: [{ tcb: { isvsvn: 4 }, ...upToDate }],
    ...options.qeIdentity,
  };
  return { tcbInfo: JSON.stringify(tcbInfo), qeIdentity: JSON.stringify(qeIdentity) };
}

function makeBody(kind: 'sgx' | 'td10' | 'td15', changes: FakeOptions['body']): Buffer {
  const body = Buffer.alloc(bodySizes[kind]);
  if (kind === 'sgx') body[48] = 5;
  else {
    body.set([4, 1, 3]);
    body.set([0, 0, 0, 0x10], 120);
    body.set([0xe7, 0x02, 0x06], 128);
  }
  for (const [offset, bytes] of changes ?? []) body.set(bytes, offset);
  return body;
}

/** A request for the verifier: an up-to-date platform unless the options say otherwise. */
export async function fakeIntel(options: FakeOptions = {}) {
  const kind = options.kind ?? 'td10';
  const version = options.version ?? (kind === 'sgx' ? 3 : kind === 'td10' ? 4 : 5);
  const root = options.root ?? (await fakeIntelRoot());
  const pckCa = await party('test PCK CA', root, true);
  const extension = sgxExtension(options.platform?.svn ?? 5, options.platform?.pceSvn ?? 11);
  const pck = await party('test PCK', pckCa, false, [new x509.Extension('1.2.840.113741.1.13.1', false, extension)]);
  const tcbSigner = await party('test TCB signing', root, false);
  const parties = { pck, pckCa, tcbSigner };

  const attestation = (await crypto.subtle.generateKey(curve, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const attestationKey = await rawKey(attestation);
  const authData = Buffer.from('test auth data');
  const qeReport = Buffer.alloc(384);
  qeReport.set(options.qeAttributes ?? [0x11], 48);
  qeReport.fill(0xdc, 128, 160);
  qeReport.set(u16(2), 256);
  qeReport.set(u16(4), 258);
  qeReport.set(createHash('sha256').update(attestationKey).update(authData).digest(), 320);
  qeReport.set(options.qeReportDataTail ?? [], 352);

  const vendor = Buffer.from('939a7233f79c4ca9940a0db3957f0607', 'hex');
  const header = Buffer.concat([
    u16(version),
    u16(2),
    u32(kind === 'sgx' ? 0 : 0x81),
    u32(0),
    vendor,
    Buffer.alloc(20),
  ]);
  const type = { sgx: 1, td10: 2, td15: 3 }[kind];
  const descriptor = version === 5 ? Buffer.concat([u16(type), u32(bodySizes[kind])]) : Buffer.alloc(0);
  const signed = Buffer.concat([header, descriptor, makeBody(kind, options.body)]);
  const signature = await sign({ keys: attestation, certificate: pck.certificate }, signed);
  const chain = Buffer.from(pem(pck, pckCa, root));
  const certified = Buffer.concat([
    qeReport,
    await sign(pck, qeReport),
    u16(authData.length),
    authData,
    u16(5),
    u32(chain.length),
    chain,
  ]);
  const wrapped = version === 3 ? certified : Buffer.concat([u16(6), u32(certified.length), certified]);
  const signatureData = Buffer.concat([signature, attestationKey, wrapped]);

  const texts = documents(options, kind !== 'sgx');
  const signer = parties[options.collateralSigner ?? 'tcbSigner'];
  const signerChain = signer === pck ? pem(pck, pckCa, root) : pem(tcbSigner, root);
  const document = async (json: string) => ({
    json,
    signature: new Uint8Array(await sign(signer, Buffer.from(json))),
    chain: signerChain,
  });
  const nextUpdate = options.crlNextUpdate ?? new Date('2025-12-31T00:00:00Z');
  const revoked = options.revoked && parties[options.revoked];
  const spki = Buffer.from(root.certificate.publicKey.rawData);
  return {
    quote: new Uint8Array(Buffer.concat([signed, u32(signatureData.length), signatureData])),
    at: fakeAt,
    pins: new Set([createHash('sha256').update(spki).digest('hex')]),
    collateral: { tcbInfo: await document(texts.tcbInfo), qeIdentity: await document(texts.qeIdentity) },
    crls: [
      await crl(root, revoked === pck ? undefined : revoked, nextUpdate),
      await crl(pckCa, revoked === pck ? pck : undefined, nextUpdate),
      ...(options.olderPckList
        ? [await crl(pckCa, options.olderPckList === 'pck' ? pck : undefined, new Date('2025-02-01T00:00:00Z'))]
        : []),
    ],
  };
}

type FakePlatform = Awaited<ReturnType<typeof fakeIntel>>;

/** All collateral of a platform in the file that tools exchange, as `parseCollateralBundle` reads it. */
export function collateralFile({ collateral, crls }: Pick<FakePlatform, 'collateral' | 'crls'>): Uint8Array {
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
  const { tcbInfo, qeIdentity } = collateral;
  const file = {
    ...{ root_ca_crl: hex(crls[0]!), pck_crl: hex(crls[1]!) },
    ...{ tcb_info_issuer_chain: tcbInfo.chain, tcb_info: tcbInfo.json, tcb_info_signature: hex(tcbInfo.signature) },
    ...{ qe_identity_issuer_chain: qeIdentity.chain, qe_identity: qeIdentity.json },
    qe_identity_signature: hex(qeIdentity.signature),
  };
  return new Uint8Array(Buffer.from(JSON.stringify(file)));
}
