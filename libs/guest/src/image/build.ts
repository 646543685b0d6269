/** Builds a guest's image: equal inputs give equal bytes, whoever builds, where and when. */
import { createHash } from 'node:crypto';
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError } from '#attestation/base';
import { imageContents, inputsOf, recipeOf, type ImageContents } from './contents.js';
import { cpioArchive, withFolders, type ImageEntry } from './cpio.js';
import { baseOf, checkBase, writeExpected } from './expected.js';
import { inputDigest, inputFile, obtainInputs, type GuestInput, type InputSources } from './inputs.js';
import { guestFolder, readImageList, readLock, repository, type Flavour } from './lock.js';
import type { BuiltGuest } from './read.js';
import { verityRoot } from './root.js';

interface BuiltFile<Name extends string> {
  readonly file: Name;
  readonly sha256: string;
  readonly bytes: number;
}

/** Where inputs are kept between builds. */
export const inputsCache = join(repository, '.veritrain/cache/guest');

/** Free bytes that a build wants: the image, and inputs that are not there yet. */
const roomBytes = 600 * 1024 * 1024;

/** @throws ConfigurationError GUEST_INPUT_OPEN */
export function refuseOpen(flavour: Flavour): void {
  const { open } = lockedInputs(flavour);
  if (open.length === 0) return;
  throw new ConfigurationError('GUEST_INPUT_OPEN', {
    expected: `locked inputs for the flavour ${flavour}`,
    got: `open: ${open.join('; ')}`,
    rule: 'enclave/guest/README.md, flavours',
    action: 'build cpu or dev',
  });
}

interface FetchedInputs {
  readonly flavour: Flavour;
  readonly inputs: readonly { readonly name: string; readonly digest: string; readonly path: string }[];
}

/** @throws ConfigurationError GUEST_LOCK, GUEST_INPUT_OPEN, GUEST_INPUT_DIGEST, GUEST_INPUT_GONE, GUEST_TOOL; CollateralError GUEST_INPUT_UNREACHABLE */
export async function fetchGuest(flavour: Flavour, sources: InputSources): Promise<FetchedInputs> {
  refuseOpen(flavour);
  const paths = await obtainInputs(inputsOf(ownRecipe(flavour)), sources);
  const inputs = [...paths].map(([input, path]) => ({
    name: `${input.name} ${input.version}`,
    digest: inputDigest(input),
    path,
  }));
  return { flavour, inputs };
}

/**
 * Writes enclave/guest/expected.json from the lock and the rest of enclave/guest.
 *
 * @returns whether it is another than before
 * @throws as buildGuest, but for GUEST_EXPECTED and GUEST_NO_SPACE
 */
export async function updateExpected(sources: InputSources): Promise<boolean> {
  const base = async (flavour: 'cpu' | 'dev') => {
    const recipe = ownRecipe(flavour);
    return baseOf(contentsOf(recipe, await obtainInputs(inputsOf(recipe), sources)));
  };
  return writeExpected({ cpu: await base('cpu'), dev: await base('dev') });
}

function ownRecipe(flavour: Flavour): ReturnType<typeof recipeOf> {
  return recipeOf(flavour, readLock(), readImageList());
}

function contentsOf(recipe: ReturnType<typeof recipeOf>, paths: ReadonlyMap<GuestInput, string>): ImageContents {
  return imageContents(recipe, new Map([...paths].map(([input, path]) => [inputFile(input), path])));
}

interface LockedInputs {
  readonly flavour: Flavour;
  readonly inputs: BuiltGuest['inputs'];
  /** Names of what the flavour needs and the lock does not have. */
  readonly open: readonly string[];
}

/** @throws ConfigurationError GUEST_LOCK */
export function lockedInputs(flavour: Flavour): LockedInputs {
  const lock = readLock();
  const open = lock.open.filter((input) => input.flavour === flavour).map(({ name }) => name);
  const inputs = inputsOf(recipeOf(flavour, lock, readImageList()));
  return { flavour, inputs: inputs.map(describe), open };
}

function describe(input: GuestInput): BuiltGuest['inputs'][number] {
  return { name: input.name, version: input.version, digest: inputDigest(input) };
}

interface ImageOptions {
  /** A kernel that takes no ACPI tables of the host: one processor, as the locked kernel finds others through ACPI alone. */
  readonly isAcpiOff?: boolean;
}

function commandLineOf(flavour: Flavour, isAcpiOff: boolean): string {
  const text = readFileSync(join(guestFolder, `cmdline.${flavour}`), 'utf8');
  return isAcpiOff ? `${text} acpi=off` : text;
}

/**
 * @param out  folder for kernel, initrd, cmdline, files.txt and firmware
 * @throws ConfigurationError GUEST_*, GUEST_EXPECTED among them; CollateralError GUEST_INPUT_UNREACHABLE
 */
export async function buildGuest(
  flavour: Flavour,
  out: string,
  sources: InputSources,
  { isAcpiOff = false }: ImageOptions = {},
): Promise<BuiltGuest> {
  refuseOpen(flavour);
  const recipe = ownRecipe(flavour);
  mkdirSync(out, { recursive: true });
  const free = statfsSync(out);
  if (free.bavail * free.bsize < roomBytes) throw noSpace(out, free.bavail * free.bsize);
  const inputs = inputsOf(recipe);
  const paths = await obtainInputs(inputs, sources);
  const step = (done: number): void => sources.onProgress?.({ stage: 'build', done, of: 3, unit: 'steps' });
  step(0);
  const contents = contentsOf(recipe, paths);
  checkBase(flavour, baseOf(contents));
  step(1);
  const built: BuiltGuest = {
    flavour,
    ...writeImage(out, contents, commandLineOf(flavour, isAcpiOff), recipe.lock.firmware.name),
    sbom: write(out, 'sbom.json', [Buffer.from(materialsOf(inputs))]),
    lockSha256: sha256([readFileSync(join(guestFolder, 'guest.lock.json'))]),
    inputs: inputs.map(describe),
  };
  step(2);
  writeFileSync(join(out, 'image.json'), `${JSON.stringify(built, null, 2)}\n`);
  step(3);
  return built;
}

/** @throws ConfigurationError GUEST_NO_SPACE */
export function writeImage(
  out: string,
  { kernel, firmware, entries: files, root: rootFiles }: ImageContents,
  line: string,
  firmwareName: string,
): Pick<BuiltGuest, 'kernel' | 'initrd' | 'cmdline' | 'files' | 'firmware' | 'root'> {
  const entries = withFolders(files);
  try {
    const root = rootFiles && verityRoot(rootFiles);
    const text = root === undefined ? line : `${line} ${root.word}`;
    const listed = rootFiles === undefined ? entries : [...entries, ...withFolders(rootFiles).map(onRoot)];
    return {
      kernel: write(out, 'vmlinuz', [kernel]),
      initrd: write(out, 'initrd.img', cpioArchive(entries)),
      cmdline: { ...write(out, 'cmdline', [Buffer.from(text)]), text },
      ...(root && { root: write(out, 'root.img', root.bytes) }),
      files: { ...write(out, 'files.txt', [Buffer.from(listOf(listed))]), count: listed.length },
      firmware: { ...write(out, 'firmware.fd', [firmware]), name: firmwareName },
    };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') throw noSpace(out, 0);
    throw error;
  }
}

/** In the list of files: those of the disk have its name in front. */
function onRoot(entry: ImageEntry): ImageEntry {
  return { ...entry, path: `root.img:${entry.path}` };
}

/** The bill of materials: CycloneDX 1.5, in the order of the lock, without a time or a serial number. */
function materialsOf(inputs: readonly GuestInput[]): string {
  const components = inputs.map((input) => ({
    ...{ type: 'library', name: input.name, version: input.version },
    hashes: [
      input.kind === 'debian'
        ? { alg: 'SHA-256', content: input.sha256 }
        : { alg: 'SHA-512', content: Buffer.from(input.integrity.slice('sha512-'.length), 'base64').toString('hex') },
    ],
  }));
  return `${JSON.stringify({ bomFormat: 'CycloneDX', specVersion: '1.5', version: 1, components }, null, 2)}\n`;
}

/** One line a file, in the order of the archive: an auditor compares two releases with `diff`. */
function listOf(entries: readonly ImageEntry[]): string {
  const line = ({ path, mode, bytes }: ImageEntry): string =>
    `${sha256([bytes])} ${mode.toString(8).padStart(6, '0')} ${bytes.length} ${path}\n`;
  return entries.map(line).join('');
}

function write<Name extends string>(folder: string, name: Name, contents: readonly Uint8Array[]): BuiltFile<Name> {
  const path = join(folder, name);
  const file = openSync(`${path}.partial`, 'w', 0o644);
  try {
    for (const part of contents) for (let at = 0; at < part.length; at += writeSync(file, part, at));
  } finally {
    closeSync(file);
  }
  renameSync(`${path}.partial`, path);
  return { file: name, sha256: sha256(contents), bytes: contents.reduce((sum, { length }) => sum + length, 0) };
}

function sha256(contents: readonly Uint8Array[]): string {
  return contents.reduce((hash, part) => hash.update(part), createHash('sha256')).digest('hex');
}

function noSpace(out: string, free: number): ConfigurationError {
  return new ConfigurationError('GUEST_NO_SPACE', {
    expected: `${roomBytes} free bytes at ${out}`,
    got: `${free}`,
    rule: 'enclave/guest/README.md, image',
    action: 'free some, or name another folder',
  });
}
