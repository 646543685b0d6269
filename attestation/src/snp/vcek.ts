/** Extensions of VCEK and VLEK certificates (AMD 57230, VCEK and VLEK certificate format). */
import { toHex } from '../base/bytes.js';
import { derInteger, derTag, readDer } from '../base/der.js';
import { Rejection } from '../base/errors.js';
import type { Certificate } from '../x509/certificate.js';
import type { Tcb, TcbComponent, TcbLayout } from './tcb.js';

const prefix = '1.3.6.1.4.1.3704.1';
export const snpOids = {
  structVersion: `${prefix}.1`,
  productName: `${prefix}.2`,
  bootLoader: `${prefix}.3.1`,
  tee: `${prefix}.3.2`,
  snp: `${prefix}.3.3`,
  spl4: `${prefix}.3.4`,
  spl5: `${prefix}.3.5`,
  spl6: `${prefix}.3.6`,
  spl7: `${prefix}.3.7`,
  microcode: `${prefix}.3.8`,
  fmc: `${prefix}.3.9`,
  hwid: `${prefix}.4`,
  cspId: `${prefix}.5`,
} as const;

interface EndorsementBase {
  readonly certificate: Certificate;
  readonly layout: TcbLayout;
  /** For display only: factory errors are known. */
  readonly productName: string;
  readonly tcb: Tcb;
}
export type SnpEndorsement = EndorsementBase &
  ({ readonly kind: 'vcek'; readonly hwid: Uint8Array } | { readonly kind: 'vlek'; readonly cspId: string });

/** Whether the certificate claims to be a leaf, by its extensions and never by its name. */
export function isSnpLeaf(certificate: Certificate): boolean {
  return certificate.extensions.has(snpOids.hwid) || certificate.extensions.has(snpOids.cspId);
}

/**
 * @throws Rejection SNP_LEAF_EXTENSIONS: a component missing or out of range, both or neither of hwID and cspID, an
 *   unknown structVersion, a key that is not P-384
 */
export function readSnpEndorsement(certificate: Certificate): SnpEndorsement {
  const layout = integer(certificate, snpOids.structVersion);
  if (layout !== 0 && layout !== 1) return refuse('structVersion 0 or 1', `${layout}`);
  const components: readonly TcbComponent[] =
    layout === 0 ? ['bootLoader', 'tee', 'snp', 'microcode'] : ['fmc', 'bootLoader', 'tee', 'snp', 'microcode'];
  const tcb: Tcb = Object.fromEntries(components.map((name) => [name, integer(certificate, snpOids[name])]));
  const reserved = [layout === 0 ? snpOids.spl4 : undefined, snpOids.spl5, snpOids.spl6, snpOids.spl7];
  for (const oid of reserved) {
    if (oid !== undefined && certificate.extensions.has(oid) && integer(certificate, oid) !== 0)
      refuse(`${oid} of zero`, 'another value');
  }
  const productName = text(certificate, snpOids.productName) ?? '';
  const hwid = certificate.extensions.get(snpOids.hwid);
  const cspId = text(certificate, snpOids.cspId);
  if ((hwid === undefined) === (cspId === undefined)) refuse('either hwID or cspID', hwid ? 'both' : 'neither');
  const base = { certificate, layout, productName, tcb } as const;
  return hwid === undefined
    ? { ...base, kind: 'vlek', cspId: cspId! }
    : { ...base, kind: 'vcek', hwid: readHwid(hwid.value, layout === 0 ? 64 : 8) };
}

/** Raw bytes, or an OCTET STRING around them: the length decides, as a raw id may begin with 0x04. */
function readHwid(value: Uint8Array, size: number): Uint8Array {
  if (value.length === size) return value;
  if (value.length === size + 2 && value[0] === derTag.octetString && value[1] === size) return value.subarray(2);
  return refuse(`an hwID of ${size} bytes`, `${value.length} bytes`);
}

function integer(certificate: Certificate, oid: string): number {
  const extension = certificate.extensions.get(oid);
  if (extension === undefined) return refuse(`extension ${oid}`, 'none');
  const value = derInteger(readDer(extension.value));
  return value >= 0n && value <= 255n ? Number(value) : refuse('a value of one byte', `${value}`);
}

function text(certificate: Certificate, oid: string): string | undefined {
  const extension = certificate.extensions.get(oid);
  if (extension === undefined) return undefined;
  const node = readDer(extension.value);
  if (node.tag !== derTag.ia5String || node.content.some((byte) => byte < 0x20 || byte > 0x7e)) {
    return refuse('printable IA5String', toHex(node.raw.subarray(0, 16)));
  }
  return String.fromCharCode(...node.content);
}

function refuse(expected: string, got: string): never {
  throw new Rejection('SNP_LEAF_EXTENSIONS', {
    expected,
    got,
    rule: 'AMD 57230 certificate format; attestation/SPEC.md §5.5',
  });
}
