/**
 * The content of a reference integrity manifest (RIM): a SWID tag of NVIDIA with golden measurements of one driver or
 * one VBIOS version (ISO/IEC 19770-2; attestation/EVIDENCE.md §3.5). Reading it says nothing about its authenticity.
 */
import { fromHex, fromUtf8 } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { rimBytesMax } from '../base/limits.js';
import { parseXml, type XmlElement } from './xml.js';
import { childElements, findSignature, spellEnveloped, type EnvelopedSignature } from './xmldsig.js';

const swid = 'http://standards.iso.org/iso/19770/-2/2015/schema.xsd';
const sha384 = 'http://www.w3.org/2001/04/xmlenc#sha384';
const alternativesMax = 64;

/** A VBIOS version has five bytes in hexadecimal; no driver version looks like it. */
const vbiosVersion = /^[0-9A-F]{2}(?:\.[0-9A-F]{2}){4}$/;

export type RimRole = 'driver' | 'vbios';

export interface GoldenMeasurement {
  /** RIM index: the SPDM block index minus one. */
  readonly index: number;
  readonly name: string;
  readonly active: boolean;
  /** Any of these is right. */
  readonly alternatives: readonly Uint8Array[];
}

export interface Manifest {
  readonly role: RimRole;
  /** Meta@colloquialVersion: the driver version or the VBIOS version. */
  readonly version: string;
  /** Meta@product, for example GH100. */
  readonly product: string;
  readonly tagId: string;
  readonly measurements: readonly GoldenMeasurement[];
  readonly signature: EnvelopedSignature;
}

/**
 * @param rim the XML file, at most 256 KiB
 * @throws Rejection NVIDIA_RIM_SIZE, BYTES_UTF8, NVIDIA_RIM_XML, NVIDIA_RIM_SIGNATURE_FORM, NVIDIA_RIM_CONTENT
 */
export function parseManifest(rim: Uint8Array): Manifest {
  if (rim.length > rimBytesMax) {
    const expected = `at most ${rimBytesMax} bytes`;
    throw new Rejection('NVIDIA_RIM_SIZE', { expected, got: `${rim.length}`, rule: 'attestation/SPEC.md, limits' });
  }
  const document = parseXml(fromUtf8(rim));
  if (document.local !== 'SoftwareIdentity' || document.namespace !== swid)
    throw bad('SoftwareIdentity', document.local);
  const signature = findSignature(document);
  const meta = only(document, 'Meta');
  const version = attribute(meta, 'colloquialVersion');
  const measurements = childElements(only(document, 'Payload')).map(readResource);
  if (new Set(measurements.map((item) => item.index)).size !== measurements.length)
    throw bad('every index once', 'one twice');
  if (!measurements.some((item) => item.active)) throw bad('at least one active measurement', 'none');
  return {
    role: vbiosVersion.test(version) ? 'vbios' : 'driver',
    version,
    product: attribute(meta, 'product'),
    tagId: attribute(document, 'tagId'),
    measurements,
    signature,
  };
}

/** The same file in its one spelling. @throws as its reader */
export function spellManifest(rim: Uint8Array): Uint8Array {
  return spellEnveloped(parseManifest(rim).signature);
}

function readResource(element: XmlElement): GoldenMeasurement {
  if (element.namespace !== swid || element.local !== 'Resource') throw bad('Resource elements', element.local);
  const name = attribute(element, 'name');
  if (attribute(element, 'type') !== 'Measurement') throw bad('type Measurement', name);
  const active = attribute(element, 'active');
  if (active !== 'True' && active !== 'False') throw bad('active True or False', active);
  const count = decimal(attribute(element, 'alternatives'), alternativesMax);
  const size = decimal(attribute(element, 'size'), 64);
  const hashes = element.attributes.filter((item) => item.namespace === sha384).length;
  if (count === 0 || hashes !== count) throw bad(`${count} alternatives of ${name}`, `${hashes}`);
  const alternatives = Array.from({ length: count }, (_, n) => fromHex(attribute(element, `Hash${n}`, sha384)));
  if (alternatives.some((value) => value.length !== size)) throw bad(`values of ${size} bytes`, name);
  return { index: decimal(attribute(element, 'index'), 253), name, active: active === 'True', alternatives };
}

function only(parent: XmlElement, local: string): XmlElement {
  const found = childElements(parent).filter((child) => child.namespace === swid && child.local === local);
  if (found.length !== 1) throw bad(`one ${local}`, `${found.length}`);
  return found[0]!;
}

function attribute(element: XmlElement, local: string, namespace = ''): string {
  const found = element.attributes.find((item) => item.local === local && item.namespace === namespace);
  if (found === undefined) throw bad(`attribute ${local} of ${element.local}`, 'none');
  return found.value;
}

function decimal(text: string, max: number): number {
  if (!/^(?:0|[1-9]\d{0,3})$/.test(text) || Number(text) > max) throw bad(`a number up to ${max}`, text);
  return Number(text);
}

function bad(expected: string, got: string): Rejection {
  return new Rejection('NVIDIA_RIM_CONTENT', { expected, got: got.slice(0, 80), rule: 'attestation/EVIDENCE.md §3.5' });
}
