/** A simulated AMD hierarchy with everything a test needs to bend it: other leaves, revocation lists, reports. */
import 'reflect-metadata';
import type { webcrypto } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as x509 from '@peculiar/x509';
import {
  productLayout,
  snpOids,
  tcbOffsets,
  type SnpProduct,
  type SnpRoot,
  type Tcb,
  type TcbComponent,
} from '#attestation';
import {
  buildSnpReport,
  parseSimulatedVendor,
  signSnpReport,
  simulatedName,
  snpReportSigner,
  tcbExtensions,
  type SimulatedVendor,
  type SnpReportValues,
} from '#libs/simulated-vendor';
import { fixturePath } from './fixture.js';

const pss = { name: 'RSA-PSS', hash: 'SHA-384', saltLength: 48 } as const;
const year = 365 * 86_400;

interface LeafOptions {
  readonly tcb?: Tcb;
  readonly hwid?: Uint8Array | null;
  readonly cspId?: string;
  readonly notBefore?: number;
  readonly notAfter?: number;
  readonly issuerName?: string;
  readonly extensions?: readonly x509.Extension[];
}

interface CrlOptions {
  readonly revokedSerials?: readonly string[];
  readonly thisUpdate?: number;
  readonly nextUpdate?: number | null;
  readonly issuerName?: string;
}

export interface FakeAmd {
  readonly vendor: SimulatedVendor;
  readonly roots: readonly SnpRoot[];
  /** VCEK, ASK, ARK. */
  readonly certificates: readonly Uint8Array[];
  /** A signed report of this vendor's chip; every TCB is the VCEK's unless said otherwise. */
  report(values?: SnpReportValues): Promise<Uint8Array>;
  /** Another leaf for the same key. */
  leaf(options: LeafOptions): Promise<Uint8Array>;
  crl(options?: CrlOptions): Promise<Uint8Array>;
}

const cpuids: Readonly<Record<SnpProduct, SnpReportValues>> = {
  Milan: { CPUID_FAM_ID: 0x19, CPUID_MOD_ID: 0x01 },
  Genoa: { CPUID_FAM_ID: 0x19, CPUID_MOD_ID: 0x11 },
  Turin: { CPUID_FAM_ID: 0x1a, CPUID_MOD_ID: 0x02 },
};

export function tcbBytes(product: SnpProduct, tcb: Tcb): Uint8Array {
  const bytes = new Uint8Array(8);
  for (const [name, offset] of Object.entries(tcbOffsets[productLayout[product]]))
    bytes[offset] = tcb[name as TcbComponent] ?? 0;
  return bytes;
}

/** Unix seconds: when the certificates of the stored test vendors begin. */
export const fakeAmdAt = 1_772_000_000;
type FakeAmdName = 'milan' | 'milan-other' | 'turin';

/** A stored vendor (RSA-4096 keys take seconds to make); `milan-other` has Milan's names and other keys. */
export function fakeAmd(name: FakeAmdName): FakeAmd {
  const file = fixturePath(`test-vendor-${name}.json`);
  const vendor = parseSimulatedVendor(readFileSync(file, 'utf8'));
  const { product } = vendor;
  const at = fakeAmdAt;
  const { subtle } = globalThis.crypto;
  const rsaKey = (pkcs8: Uint8Array) => subtle.importKey('pkcs8', plain(pkcs8), pss, false, ['sign']);
  const vcekPublic = new x509.X509Certificate(plain(vendor.vcek)).publicKey;
  const chipId = new Uint8Array(64);
  chipId.set(vendor.hwid);
  const tcb = tcbBytes(product, vendor.tcb);
  const defaults: SnpReportValues = {
    ...cpuids[product],
    CHIP_ID: chipId,
    CURRENT_TCB: tcb,
    REPORTED_TCB: tcb,
    COMMITTED_TCB: tcb,
    LAUNCH_TCB: tcb,
  };
  return {
    vendor,
    roots: [{ product, spkiSha256: vendor.arkSpkiSha256 }],
    certificates: [vendor.vcek, vendor.ask, vendor.ark],
    report(values = {}) {
      const hasCpuid = Number(values['VERSION'] ?? 3) >= 3;
      const fields = Object.entries({ ...defaults, ...values }).filter(
        ([name]) => hasCpuid || !name.startsWith('CPUID'),
      );
      return signSnpReport(buildSnpReport(Object.fromEntries(fields)), snpReportSigner(vendor.vcekKey));
    },
    async leaf(options) {
      const hwid = options.hwid === undefined ? vendor.hwid : options.hwid;
      const certificate = await x509.X509CertificateGenerator.create({
        issuer: simulatedName(options.issuerName ?? `SEV-${product}`),
        subject: simulatedName(options.cspId === undefined ? 'SEV-VCEK' : 'SEV-VLEK'),
        publicKey: vcekPublic,
        signingKey: (await rsaKey(vendor.askKey)) as webcrypto.CryptoKey,
        signingAlgorithm: pss,
        serialNumber: '00',
        notBefore: new Date(1000 * (options.notBefore ?? at - 3600)),
        notAfter: new Date(1000 * (options.notAfter ?? at + 7 * year)),
        extensions: [
          ...tcbExtensions(product, options.tcb ?? vendor.tcb),
          ...(hwid === null ? [] : [new x509.Extension(snpOids.hwid, false, plain(hwid))]),
          ...(options.cspId === undefined ? [] : [new x509.Extension(snpOids.cspId, false, plain(ia5(options.cspId)))]),
          ...(options.extensions ?? []),
        ],
      });
      return new Uint8Array(certificate.rawData);
    },
    async crl(options = {}) {
      const next = options.nextUpdate === undefined ? at + year : options.nextUpdate;
      const crl = await x509.X509CrlGenerator.create({
        issuer: simulatedName(options.issuerName ?? `ARK-${product}`),
        thisUpdate: new Date(1000 * (options.thisUpdate ?? at - 3600)),
        ...(next !== null && { nextUpdate: new Date(1000 * next) }),
        signingAlgorithm: pss,
        signingKey: (await rsaKey(vendor.arkKey)) as webcrypto.CryptoKey,
        entries: (options.revokedSerials ?? []).map((serialNumber) => ({
          serialNumber,
          revocationDate: new Date(1000 * at),
        })),
        extensions: [new x509.Extension('2.5.29.20', false, plain(Uint8Array.of(2, 1, 7)))],
      });
      return new Uint8Array(crl.rawData);
    },
  };
}

function ia5(text: string): Uint8Array {
  return Uint8Array.of(0x16, text.length, ...text.split('').map((letter) => letter.charCodeAt(0)));
}

function plain(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>;
}
