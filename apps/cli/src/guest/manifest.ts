/** The measurement manifest of a built image: made with every launch measured, and verified, on demand by building again. */
import { createPrivateKey, sign as signWith, type KeyObject } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  encodeDocument,
  enforcingFirmwareName,
  isAcpiOff,
  launchKeyDigest,
  makeIdBlock,
  measurementOf,
  verifyGuestManifest,
  verifyLaunches,
  type GuestManifest,
  type LaunchKey,
} from '#attestation';
import { CodedError, ConfigurationError, concatBytes, equalBytes, Rejection, toBase64, toHex } from '#attestation/base';
import { readBytes } from '#libs/client/files';
import { buildGuest, readImage, repository, type BuiltGuest, type InputSources } from '#libs/guest';

const keyBytesMax = 4096;
const manifestBytesMax = 4 * 1024 * 1024;
const firmwareBytesMax = 64 * 1024 * 1024;

const counts = [1, 2, 4, 8, 16, 32, 64];
/** CPU models of QEMU, with the least version that knows them. */
const models = { 'EPYC-Milan': '>=10.0', 'EPYC-Genoa': '>=10.0', 'EPYC-Turin': '>=10.1' } as const;
const features = '0x1';
/** SMT allowed, one socket, neither debugging nor migration. */
const guestPolicy = '0x130000';

interface ManifestRequest {
  readonly tag: string;
  readonly commit?: string;
  readonly svn: number;
  /** PEM of a P-384 key that signs launches, and of the one that signs such keys. */
  readonly idKey?: string;
  readonly authorKey?: string;
}

/** @throws ConfigurationError GUEST_IMAGE, GUEST_COMMIT, GUEST_ID_KEY_FILE, FILE_*; Rejection SNP_MEASURE_* */
export async function manifestOf(folder: string, request: ManifestRequest): Promise<GuestManifest> {
  const image = readImage(folder);
  const firmware = readBytes(join(folder, image.firmware.file), firmwareBytesMax);
  const [idKey, authorKey] = [request.idKey, request.authorKey].map((file) => file && launchKey(file));
  const said = describe(image, request);
  const launch: GuestManifest['launch'][number][] = [];
  for (const [cpu, qemu] of Object.entries(models)) {
    for (const vcpus of isAcpiOff(image.cmdline.text) ? [1] : counts) {
      const measurement = measurementOf(said, firmware, { vcpus, cpu, features });
      const entry = { vmm: 'QEMU' as const, qemu, vcpus, cpu, features, policy: guestPolicy, measurement };
      launch.push(
        idKey ? { ...entry, ...(await signedLaunch(measurement, request.svn, idKey, authorKey || undefined)) } : entry,
      );
    }
  }
  return {
    ...said,
    ...(idKey && { idKeyDigest: launchKeyDigest(idKey.point) }),
    ...(idKey && authorKey && { authorKeyDigest: launchKeyDigest(authorKey.point) }),
    launch,
  };
}

function describe(
  image: BuiltGuest,
  { tag, commit = headCommit(), svn }: ManifestRequest,
): Omit<GuestManifest, 'launch'> {
  const { flavour, kernel, initrd, cmdline, files, sbom, firmware, lockSha256, inputs } = image;
  const fileOf = ({ sha256, bytes }: { sha256: string; bytes: number }) => ({ sha256, bytes });
  return {
    ...({ version: 1, name: 'veritrain-guest' } as const),
    ...{ flavour, tag, commit, lockSha256, inputs },
    files: {
      ...{ kernel: fileOf(kernel), initrd: fileOf(initrd), cmdline: cmdline.text },
      ...(image.root && { root: fileOf(image.root) }),
    },
    ...{ listSha256: files.sha256, sbomSha256: sbom.sha256, guestSvn: svn },
    firmware: {
      ...{ name: firmware.name, sha256: firmware.sha256 },
      enforcesHashes: enforcingFirmwareName(firmware.sha256) !== undefined,
    },
  };
}

async function signedLaunch(measurement: string, guestSvn: number, idKey: LaunchKey, authorKey?: LaunchKey) {
  const ids = { familyId: '00'.repeat(16), imageId: '00'.repeat(16) };
  const values = { measurement, ...ids, guestSvn, policy: BigInt(guestPolicy) };
  const { block, auth } = await makeIdBlock(values, idKey, authorKey);
  return { idBlock: toBase64(block), idAuth: toBase64(auth) };
}

function launchKey(file: string): LaunchKey {
  let key: KeyObject;
  try {
    key = createPrivateKey(Buffer.from(readBytes(file, keyBytesMax)));
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    throw notLaunchKey(file, 'no key');
  }
  if (key.asymmetricKeyDetails?.namedCurve !== 'secp384r1')
    throw notLaunchKey(file, key.asymmetricKeyType ?? 'another');
  const { x, y } = key.export({ format: 'jwk' }) as { x: string; y: string };
  return {
    point: concatBytes(new Uint8Array(Buffer.from(x, 'base64url')), new Uint8Array(Buffer.from(y, 'base64url'))),
    sign: (message) => new Uint8Array(signWith('sha384', message, { key, dsaEncoding: 'ieee-p1363' })),
  };
}

interface VerifyRequest {
  readonly publicKey: Uint8Array;
  /** Absent with a rebuild, which brings it. */
  readonly firmware?: string;
  readonly rebuild?: boolean;
  readonly sources: InputSources;
}

interface VerifiedManifest {
  readonly ok: boolean;
  readonly manifest: GuestManifest;
  /** How many launches were measured again and found as stated. */
  readonly launches: number;
  /** Null where nothing was built. */
  readonly rebuilt: { readonly equal: boolean; readonly differs: readonly string[] } | null;
}

/** @throws Rejection COSE_*, CBOR_*, DOCUMENT_*, GUEST_FIRMWARE, GUEST_MANIFEST, SNP_*; ConfigurationError FILE_*, GUEST_* */
export async function verifyManifestFile(file: string, request: VerifyRequest): Promise<VerifiedManifest> {
  const manifest = await signedManifest(file, request.publicKey);
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-rebuild-'));
  try {
    const built = request.rebuild === true ? await rebuild(manifest, folder, request.sources) : null;
    const firmware = request.firmware ?? (built === null ? undefined : join(folder, built.firmware.file));
    if (firmware === undefined) throw noFirmware();
    const differs = built === null ? [] : differencesOf(manifest, built);
    const launches = await verifyLaunches(manifest, readBytes(firmware, firmwareBytesMax));
    const rebuilt = built === null ? null : { equal: differs.length === 0, differs };
    return { ok: differs.length === 0, manifest, launches, rebuilt };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function signedManifest(file: string, publicKey: Uint8Array): Promise<GuestManifest> {
  return verifyGuestManifest(readBytes(file, manifestBytesMax), publicKey).catch((error: unknown) => {
    if (!(error instanceof Rejection) || !/^(CBOR_|COSE_MALFORMED$)/.test(error.code)) throw error;
    throw new Rejection(error.code, {
      ...{ expected: 'a signed measurement manifest', rule: error.detail.rule },
      got: `${file}: not a signed manifest (${error.detail.got})`,
      action: 'name the file that guest manifest --out wrote, or that came with the release',
    });
  });
}

async function rebuild(
  { commit, flavour, files }: GuestManifest,
  folder: string,
  sources: InputSources,
): Promise<BuiltGuest> {
  const found = headCommit();
  if (found !== commit)
    throw new ConfigurationError('GUEST_COMMIT', {
      ...{ expected: `the sources of commit ${commit}`, got: found, rule: 'enclave/guest/README.md, manifest' },
      action: `git checkout ${commit} && npm run build`,
    });
  return buildGuest(flavour, folder, sources, { isAcpiOff: isAcpiOff(files.cmdline) });
}

/** Names of what a build gave otherwise than the manifest says. */
export function differencesOf(manifest: GuestManifest, built: BuiltGuest): readonly string[] {
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['kernel', manifest.files.kernel.sha256, built.kernel.sha256],
    ['initrd', manifest.files.initrd.sha256, built.initrd.sha256],
    ['cmdline', manifest.files.cmdline, built.cmdline.text],
    ['root', manifest.files.root?.sha256, built.root?.sha256],
    ['list of files', manifest.listSha256, built.files.sha256],
    ['bill of materials', manifest.sbomSha256, built.sbom.sha256],
    ['lock', manifest.lockSha256, built.lockSha256],
    ['firmware', manifest.firmware.sha256, built.firmware.sha256],
  ];
  return pairs.filter(([, said, found]) => said !== found).map(([name]) => name);
}

interface SignedImage {
  readonly tag: string;
  readonly flavour: string;
  readonly folder: string;
  readonly image: BuiltGuest;
}

/**
 * Demands a manifest signed by each key, the same of all, and an image that is what they say.
 * @param files  signed manifests
 * @throws Rejection GUEST_BUILDERS, GUEST_MANIFEST, GUEST_FIRMWARE, SNP_*; ConfigurationError FILE_*
 */
export async function verifyBuilders(
  files: readonly string[],
  keys: readonly Uint8Array[],
  { tag, flavour, folder, image }: SignedImage,
): Promise<{ readonly manifest: GuestManifest; readonly file: string; readonly launches: number }> {
  const found = await Promise.all(keys.map((key) => signedBy(key, files)));
  const [{ manifest, file }] = found as [(typeof found)[number]];
  const bytes = encodeDocument(manifest);
  if (!found.every((other) => equalBytes(encodeDocument(other.manifest), bytes)))
    throw refusedBuilders('builders that say the same of an image', 'manifests that differ');
  const differs = differencesOf(manifest, image);
  if (manifest.tag !== tag || manifest.flavour !== flavour || differs.length > 0)
    throw refusedBuilders(
      `${tag} ${flavour} as its builders signed it`,
      differs.join(', ') || `${manifest.tag} ${manifest.flavour}`,
    );
  const launches = await verifyLaunches(manifest, readBytes(join(folder, image.firmware.file), firmwareBytesMax));
  return { manifest, file, launches };
}

/** The manifest that this key signed. */
async function signedBy(key: Uint8Array, files: readonly string[]): Promise<{ manifest: GuestManifest; file: string }> {
  for (const file of files) {
    try {
      return { manifest: await verifyGuestManifest(readBytes(file, manifestBytesMax), key), file };
    } catch (error) {
      if (!(error instanceof CodedError) || !error.code.startsWith('COSE_')) throw error;
    }
  }
  throw refusedBuilders(`a manifest signed by ${toHex(key)}`, `${files.length} by others`);
}

function refusedBuilders(expected: string, got: string): Rejection {
  return new Rejection('GUEST_BUILDERS', {
    ...{ expected, got, rule: 'enclave/guest/README.md, releases' },
    action: 'ask the builders; do not start this image',
  });
}

/** Of the sources that this program stands in. @throws ConfigurationError GUEST_COMMIT */
function headCommit(): string {
  const { status, stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: repository, encoding: 'utf8' });
  const commit = status === 0 ? stdout.trim() : '';
  if (/^[0-9a-f]{40}$/.test(commit)) return commit;
  throw new ConfigurationError('GUEST_COMMIT', {
    ...{ expected: 'sources in a clone of the repository', got: 'none', rule: 'enclave/guest/README.md, manifest' },
    action: 'run it in a clone, or name the commit of the sources with --commit',
  });
}

function notLaunchKey(file: string, got: string): ConfigurationError {
  return new ConfigurationError('GUEST_ID_KEY_FILE', {
    ...{ expected: `${file}: PEM of a P-384 key`, got, rule: 'AMD 56860 §8.17' },
    action: 'openssl ecparam -name secp384r1 -genkey -noout -out FILE',
  });
}

function noFirmware(): ConfigurationError {
  return new ConfigurationError('GUEST_FIRMWARE_FILE', {
    ...{
      expected: '--firmware with the image that the manifest names',
      got: 'none',
      rule: 'arguments of this command',
    },
    action: 'name it, or build again with --rebuild, which brings it',
  });
}
