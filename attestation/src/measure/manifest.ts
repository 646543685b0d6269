/**
 * The manifest of a measured guest: from a tag of the source to what a report shows (attestation/SPEC.md §5.7.1). Signed as a
 * document; whoever has it and the firmware computes every measurement in it again.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { fromBase64, fromHex, toHex } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { readDocumentText, signDocument, verifyDocument } from '../check/document.js';
import { flag, hex, integer, list, object, oneOf, optional, text } from '../check/schema.js';
import type { Node } from '../check/schema.js';
import { verifyIdBlock } from '../snp/id-block.js';
import { enforcingFirmwareName } from './firmware.js';
import { launchDigest } from './launch-digest.js';
import { cpuSignature } from './vmsa.js';

interface ManifestFile {
  readonly sha256: string;
  readonly bytes: number;
}

interface GuestLaunch {
  readonly vmm: 'QEMU';
  /** Versions that know the CPU model, for example `>=10.0`. */
  readonly qemu: string;
  readonly vcpus: number;
  readonly cpu: string;
  /** SEV_FEATURES, 0x-hexadecimal. */
  readonly features: string;
  /** Guest policy, 0x-hexadecimal. */
  readonly policy: string;
  readonly measurement: string;
  /** Base64, both or none. */
  readonly idBlock?: string;
  readonly idAuth?: string;
}

export interface GuestManifest {
  readonly version: 1;
  readonly name: string;
  readonly flavour: 'cpu' | 'gpu' | 'dev';
  readonly tag: string;
  readonly commit: string;
  readonly lockSha256: string;
  readonly inputs: readonly { readonly name: string; readonly version: string; readonly digest: string }[];
  readonly files: {
    readonly kernel: ManifestFile;
    readonly initrd: ManifestFile;
    readonly cmdline: string;
    /** A disk, in images that have one: the command line pins the root of its tree of hashes. */
    readonly root?: ManifestFile;
  };
  /** Of the list of the image's files. */
  readonly listSha256: string;
  /** Of the bill of materials. */
  readonly sbomSha256: string;
  readonly ociDigest?: string;
  readonly firmware: { readonly name: string; readonly sha256: string; readonly enforcesHashes: boolean };
  readonly guestSvn: number;
  readonly idKeyDigest?: string;
  readonly authorKeyDigest?: string;
  readonly launch: readonly GuestLaunch[];
}

const contentType = 'application/vnd.veritrain.guest-manifest+cbor';
const word = (maxLength: number): Node<string> => text(maxLength);
const file = object({ sha256: hex(32), bytes: integer(1) });

const launch: Node<GuestLaunch> = object({
  vmm: oneOf('QEMU'),
  qemu: word(32),
  vcpus: integer(1, 512),
  cpu: word(40),
  features: word(20),
  policy: word(20),
  measurement: hex(48),
  idBlock: optional(word(128)),
  idAuth: optional(word(5464)),
});

const manifestNode: Node<GuestManifest> = object({
  version: oneOf(1),
  name: word(64),
  flavour: oneOf('cpu', 'gpu', 'dev'),
  tag: word(64),
  commit: hex(20, 32),
  lockSha256: hex(32),
  inputs: list(object({ name: word(128), version: word(80), digest: word(128) }), 500),
  files: object({ kernel: file, initrd: file, cmdline: word(2047), root: optional(file) }),
  listSha256: hex(32),
  sbomSha256: hex(32),
  ociDigest: optional(hex(32)),
  firmware: object({ name: word(80), sha256: hex(32), enforcesHashes: flag }),
  guestSvn: integer(0, 0xffffffff),
  idKeyDigest: optional(hex(48)),
  authorKeyDigest: optional(hex(48)),
  launch: list(launch, 200),
});

/** @throws Rejection DOCUMENT_SIZE, DOCUMENT_JSON, DOCUMENT_SHAPE */
export function readGuestManifest(json: string): GuestManifest {
  return readDocumentText(manifestNode, json);
}

/** COSE_Sign1 (EdDSA) over its deterministic encoding: two publishers of one image sign the same bytes. */
export function signGuestManifest(
  manifest: GuestManifest,
  publicKey: Uint8Array,
  sign: (toBeSigned: Uint8Array) => Uint8Array | Promise<Uint8Array>,
): Promise<Uint8Array> {
  return signDocument(manifestNode.read(manifest, '$'), contentType, publicKey, sign);
}

/** @throws Rejection COSE_*, CBOR_*, DOCUMENT_SIZE, DOCUMENT_SHAPE */
export function verifyGuestManifest(signed: Uint8Array, publicKey: Uint8Array): Promise<GuestManifest> {
  return verifyDocument(manifestNode, signed, contentType, publicKey);
}

/** What is measured, apart from the machine's shape. */
export type MeasuredImage = Pick<GuestManifest, 'files'>;
export type LaunchShape = Pick<GuestLaunch, 'vcpus' | 'cpu' | 'features'>;

/** @returns hexadecimal. @throws Rejection SNP_MEASURE_* */
export function measurementOf({ files }: MeasuredImage, firmware: Uint8Array, shape: LaunchShape): string {
  if (!/^0x[0-9a-f]{1,16}$/.test(shape.features)) refuse('SEV_FEATURES as 0x-hexadecimal', shape.features);
  const kernel = {
    imageSha256: fromHex(files.kernel.sha256),
    initrdSha256: fromHex(files.initrd.sha256),
    commandLine: files.cmdline,
  };
  const { vcpus, cpu, features } = shape;
  const guestFeatures = BigInt(features);
  return toHex(launchDigest({ firmware, kernel, vcpus, cpuSignature: cpuSignature(cpu), guestFeatures, vmm: 'QEMU' }));
}

/**
 * Computes every measurement again, and holds the ID blocks against them.
 * @param firmware  the image that the manifest names
 * @returns how many launches it has
 * @throws Rejection GUEST_FIRMWARE (another image, or one that is on no list of those that enforce hashes), GUEST_MANIFEST,
 *   SNP_MEASURE_*, SNP_ID_BLOCK, SNP_ID_BLOCK_SIGNATURE
 */
export async function verifyLaunches(manifest: GuestManifest, firmware: Uint8Array): Promise<number> {
  const found = toHex(sha256(firmware));
  if (found !== manifest.firmware.sha256) throw firmwareRefused(`firmware ${manifest.firmware.sha256}`, found);
  if (enforcingFirmwareName(found) === undefined || !manifest.firmware.enforcesHashes)
    throw firmwareRefused('firmware that is known to refuse a kernel without hashes', found);
  if (manifest.launch.length === 0) refuse('at least one launch', 'none');
  for (const entry of manifest.launch) {
    const computed = measurementOf(manifest, firmware, entry);
    const shape = `${entry.cpu}, ${entry.vcpus} vCPUs, SEV_FEATURES ${entry.features}`;
    if (computed !== entry.measurement) refuse(`${computed} for ${shape}`, entry.measurement);
    await verifyEntryBlock(manifest, entry, shape);
  }
  return manifest.launch.length;
}

async function verifyEntryBlock(manifest: GuestManifest, entry: GuestLaunch, shape: string): Promise<void> {
  const { idBlock, idAuth, measurement, policy } = entry;
  if (idBlock === undefined && idAuth === undefined && manifest.idKeyDigest === undefined) return;
  if (idBlock === undefined || idAuth === undefined) return refuse(`an ID block for ${shape}`, 'none');
  const said = await verifyIdBlock(fromBase64(idBlock), fromBase64(idAuth));
  const got = {
    ...{ measurement: said.measurement, guestSvn: said.guestSvn, policy: `0x${said.policy.toString(16)}` },
    ...{ idKeyDigest: said.idKeyDigest, authorKeyDigest: said.authorKeyDigest },
  };
  const { guestSvn, idKeyDigest, authorKeyDigest } = manifest;
  const expected = { measurement, guestSvn, policy, idKeyDigest, authorKeyDigest };
  for (const name of Object.keys(expected) as (keyof typeof expected)[]) {
    if (got[name] !== expected[name]) refuse(`${name} ${expected[name]} in the ID block for ${shape}`, `${got[name]}`);
  }
}

function firmwareRefused(expected: string, got: string): Rejection {
  return new Rejection('GUEST_FIRMWARE', { expected, got, rule: 'attestation/SPEC.md §5.7.1' });
}

function refuse(expected: string, got: string): never {
  throw new Rejection('GUEST_MANIFEST', { expected, got, rule: 'attestation/SPEC.md §5.7.1' });
}
