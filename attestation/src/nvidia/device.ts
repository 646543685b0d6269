/**
 * Who the GPU is and what it runs: identity from the leaf certificate, versions from the signed opaque data
 * (attestation/EVIDENCE.md §3.2, §3.3). Nothing here is believed before chain and report signature hold.
 */
import { fromUtf8, toHex } from '../base/bytes.js';
import { derChildren, derExpect, derInside, derOid, derTag, readDer } from '../base/der.js';
import { Rejection } from '../base/errors.js';
import type { Certificate } from '../x509/certificate.js';
import type { SpdmReport } from './spdm.js';

const fwidHopper = '2.23.133.5.4.1';
const diceTcbInfo = '2.23.133.5.4.1.1';
const deviceInfoName = '1.3.6.1.4.1.412.274.1';
const subjectAltName = '2.5.29.17';

type Architecture = 'hopper' | 'blackwell';

export interface DeviceIdentity {
  readonly architecture: Architecture;
  /** Chip name, for example GH100. */
  readonly chip: string;
  /** Device id of the otherName 1.3.6.1.4.1.412.274.1, 16 hexadecimal digits: the same under every firmware. */
  readonly deviceId: string;
  /** Serial number of the leaf in decimal, as NVIDIA's tools print it. The leaf changes with the firmware. */
  readonly ueid: string;
  /** Firmware id that the boot ROM certified, SHA-384. */
  readonly fwid: Uint8Array;
}

export interface Firmware {
  readonly driverVersion: string;
  /** For example 96.00.9F.00.01. */
  readonly vbiosVersion: string;
  readonly vbiosRimId: string;
  readonly chipInfo?: string;
  readonly fwid?: Uint8Array;
  /** NVDEC0_STATUS: 0xAA enabled, 0x55 disabled. */
  readonly nvdec0?: number;
  readonly opaqueVersion: number;
  /** Field FEATURE_FLAG: single GPU, multi-GPU pass-through, protected PCIe. */
  readonly feature?: 'spt' | 'mpt' | 'ppcie';
}

/**
 * @param leaf first certificate of the device chain
 * @throws Rejection NVIDIA_LEAF_IDENTITY, NVIDIA_LEAF_FWID, NVIDIA_ARCHITECTURE, DER_MALFORMED
 */
export function readIdentity(leaf: Certificate): DeviceIdentity {
  const [maker, chip, deviceId, ...rest] = readDeviceInfo(leaf).split(':');
  if (maker !== 'NVIDIA' || chip === undefined || !/^[0-9A-F]{16}$/.test(deviceId ?? '') || rest.length > 0) {
    throw bad('NVIDIA_LEAF_IDENTITY', 'NVIDIA:chip:id in the subjectAltName', 'another text');
  }
  const architecture = chip.startsWith('GH') ? 'hopper' : chip.startsWith('GB') ? 'blackwell' : undefined;
  if (architecture === undefined) throw bad('NVIDIA_ARCHITECTURE', 'a Hopper or Blackwell chip', chip);
  return { architecture, chip, deviceId: deviceId!, ueid: BigInt(`0x${leaf.serial}`).toString(), fwid: readFwid(leaf) };
}

function readDeviceInfo(leaf: Certificate): string {
  const names = leaf.extensions.get(subjectAltName);
  const found = names === undefined ? [] : derInside(readDer(names.value), derTag.sequence);
  for (const name of found.filter((node) => node.tag === 0xa0)) {
    const [type, value] = derChildren(name);
    if (derOid(type) === deviceInfoName)
      return fromUtf8(derExpect(derInside(value, 0xa0)[0], derTag.utf8String).content);
  }
  throw bad('NVIDIA_LEAF_IDENTITY', `an otherName ${deviceInfoName}`, 'none');
}

/** Hopper: SEQUENCE { INTEGER, SubjectPublicKeyInfo, FWID }; Blackwell: first FWID of DiceTcbInfo [6]. */
function readFwid(leaf: Certificate): Uint8Array {
  const hopper = leaf.extensions.get(fwidHopper);
  const blackwell = leaf.extensions.get(diceTcbInfo);
  const code = 'NVIDIA_LEAF_FWID';
  if ((hopper === undefined) === (blackwell === undefined))
    throw bad(code, 'one of two FWID extensions', 'none or both');
  const fields = derInside(readDer((hopper ?? blackwell)!.value), derTag.sequence);
  const node =
    hopper !== undefined
      ? fields[2]
      : derInside(
          fields.find((field) => field.tag === 0xa6),
          0xa6,
        )[0];
  const [algorithm, digest] = derInside(node, derTag.sequence);
  const value = derExpect(digest, derTag.octetString).content;
  if (derOid(algorithm) !== '2.16.840.1.101.3.4.2.2' || value.length !== 48) throw bad(code, 'a SHA-384', toHex(value));
  return value;
}

/** @throws Rejection NVIDIA_REPORT_FIELD */
export function readFirmware(report: SpdmReport): Firmware {
  const chipInfo = report.opaque.has('CHIP_INFO') ? text(report, 'CHIP_INFO') : undefined;
  const fwid = report.opaque.has('FWID') ? field(report, 'FWID', 48) : undefined;
  const nvdec0 = report.opaque.has('NVDEC0_STATUS') ? field(report, 'NVDEC0_STATUS', 1)[0] : undefined;
  const opaqueVersion = report.opaque.has('OPAQUE_DATA_VERSION') ? small(report, 'OPAQUE_DATA_VERSION') : 0;
  if (opaqueVersion > 1) throw bad('NVIDIA_REPORT_FIELD', 'OPAQUE_DATA_VERSION 0 or 1', `${opaqueVersion}`);
  const vbiosVersion = readVbiosVersion(field(report, 'VBIOS_VERSION', 8));
  const board = ['PROJECT', 'PROJECT_SKU', 'CHIP_SKU'].map((name) => text(report, name));
  return {
    driverVersion: text(report, 'DRIVER_VERSION'),
    vbiosVersion,
    vbiosRimId: ['NV_GPU_VBIOS', ...board, vbiosVersion.replaceAll('.', '')].join('_').toUpperCase(),
    opaqueVersion,
    ...(chipInfo !== undefined && { chipInfo }),
    ...(fwid !== undefined && { fwid }),
    ...(nvdec0 !== undefined && { nvdec0 }),
    ...(report.opaque.has('FEATURE_FLAG') && { feature: readFeature(report) }),
  };
}

/** Name of the driver's reference manifest at the RIM service (attestation/EVIDENCE.md §3.5). */
export function driverRimId(identity: DeviceIdentity, firmware: Firmware): string {
  return identity.architecture === 'hopper'
    ? `NV_GPU_DRIVER_GH100_${firmware.driverVersion}`
    : `NV_GPU_CC_DRIVER_${firmware.chipInfo ?? 'GB100'}_${firmware.driverVersion}`;
}

/** 009f009601000000 is 96.00.9F.00.01: bytes 3, 2, 1, 0 and then 4 (attestation/EVIDENCE.md §3.2). */
export function readVbiosVersion(bytes: Uint8Array): string {
  const order = [3, 2, 1, 0, 4].map((at) => toHex(bytes.subarray(at, at + 1)));
  return order.join('.').toUpperCase();
}

function readFeature(report: SpdmReport): 'spt' | 'mpt' | 'ppcie' {
  const value = small(report, 'FEATURE_FLAG');
  const feature = (['mpt', 'spt', 'ppcie'] as const)[value];
  if (feature === undefined) throw bad('NVIDIA_REPORT_FIELD', 'FEATURE_FLAG 0 to 2', `${value}`);
  return feature;
}

function field(report: SpdmReport, name: string, size: number): Uint8Array {
  const value = report.opaque.get(name);
  if (value?.length !== size)
    throw bad('NVIDIA_REPORT_FIELD', `${size} bytes of ${name}`, `${value?.length ?? 'none'}`);
  return value;
}

function small(report: SpdmReport, name: string): number {
  const [low, high] = field(report, name, 2);
  return low! | (high! << 8);
}

/** ASCII letters, digits, dots and dashes, then one or more NUL. */
function text(report: SpdmReport, name: string): string {
  const match = /^([A-Za-z0-9.-]{1,32})\0+$/.exec(String.fromCharCode(...(report.opaque.get(name) ?? [])));
  if (match === null) throw bad('NVIDIA_REPORT_FIELD', `text with NUL in ${name}`, 'something else');
  return match[1]!;
}

function bad(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, { expected, got, rule: 'attestation/EVIDENCE.md §3.2, §3.3' });
}
