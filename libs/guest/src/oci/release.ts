/** A release of guests as an OCI layout: each file of an image a layer under its title, so that a download goes on where it broke off. */
import { createHash } from 'node:crypto';
import {
  closeSync,
  createReadStream,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { ConfigurationError } from '#attestation/base';
import { inputBytesMax } from '../image/limits.js';
import type { GuestProgress } from '../image/progress.js';
import { readImage } from '../image/read.js';
import { mediaTypes, named, writeBlob, writeDocument, writeIndex, type Descriptor } from './layout.js';
import { openRelease, refused, type ReleaseSource } from './release-source.js';

const titled = 'org.opencontainers.image.title';
const artifactType = 'application/vnd.veritrain.guest.v1';
const fileType = 'application/vnd.veritrain.guest.file.v1';

/** Bytes of an index or a manifest. */
const documentMost = 1024 * 1024;
const filesMost = 32;
/** Builders that sign an image. */
const signersMost = 8;

const descriptor = z.object({
  mediaType: z.string().max(200),
  digest: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  size: z.int().min(0).max(inputBytesMax),
  annotations: z.record(z.string(), z.string().max(200)).optional(),
});
const indexShape = z.object({ manifests: z.array(descriptor).max(1000) });
const manifestShape = z.object({
  artifactType: z.literal(artifactType),
  layers: z.array(descriptor).min(1).max(filesMost),
});
const title = z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/);
const tagShape = /^[A-Za-z0-9][\w.-]{0,99}$/;

interface Packed {
  readonly name: string;
  readonly digest: string;
  readonly files: readonly string[];
}

/**
 * Adds an image to a layout, in place of one of the same name.
 * @param image  folder of `guest build`
 * @param signed  manifests, one of each builder
 * @param out  folder of the layout
 * @throws ConfigurationError GUEST_IMAGE, GUEST_RELEASE
 */
export function packRelease(image: string, signed: readonly string[], tag: string, out: string): Packed {
  const { flavour, kernel, initrd, cmdline, files, sbom, firmware, root } = readImage(image);
  const name = nameOf(tag, flavour);
  if (signed.length < 1 || signed.length > signersMost)
    throw refused(`manifests of 1 to ${signersMost} builders`, `${signed.length}`, 'name each with --manifest');
  mkdirSync(out, { recursive: true });
  const parts: readonly (readonly [string, string])[] = [
    ...[kernel, initrd, cmdline, files, sbom, firmware, ...(root ? [root] : [])].map(
      ({ file }) => [file, join(image, file)] as const,
    ),
    ['image.json', join(image, 'image.json')],
    ...signed.map((file, index) => [`manifest-${index + 1}.cose`, file] as const),
  ];
  const layers = parts.map(([as, path]) => ({
    ...writeBlob(out, fileType, [readFileSync(path)]),
    annotations: { [titled]: as },
  }));
  const config = writeDocument(out, mediaTypes.empty, {});
  const manifest = { schemaVersion: 2, mediaType: mediaTypes.manifest, artifactType, config, layers };
  const entry: Descriptor = {
    ...writeDocument(out, mediaTypes.manifest, manifest),
    artifactType,
    annotations: { [named]: name },
  };
  const others = existsSync(join(out, 'index.json'))
    ? indexShape.parse(JSON.parse(readFileSync(join(out, 'index.json'), 'utf8'))).manifests
    : [];
  writeIndex(
    out,
    [...others.filter(({ annotations }) => annotations?.[named] !== name), entry].map((each) => each as Descriptor),
  );
  return { name, digest: entry.digest, files: parts.map(([as]) => as) };
}

interface ReleaseRequest {
  /** Folder of the layout, or its address. */
  readonly from: string;
  readonly tag: string;
  readonly flavour: string;
  /** Folder of the image; whole files that are there stay, parts are gone on with. */
  readonly out: string;
  readonly onProgress?: ((progress: GuestProgress) => void) | undefined;
}

interface FetchedRelease {
  readonly name: string;
  /** Of the artifact's manifest. */
  readonly digest: string;
  /** Manifests as the builders signed them, by path. */
  readonly signed: readonly string[];
}

/**
 * Brings an image; every byte is held against the digests of the layout, and the image against its own description. Who signed
 * it is another question.
 * @throws ConfigurationError GUEST_RELEASE, GUEST_IMAGE, GUEST_INPUT_GONE, GUEST_INPUT_DIGEST; CollateralError
 *   GUEST_INPUT_UNREACHABLE
 */
export async function fetchRelease({ from, tag, flavour, out, onProgress }: ReleaseRequest): Promise<FetchedRelease> {
  const name = nameOf(tag, flavour);
  const source = openRelease(from);
  const index = document(indexShape, await source.read('index.json', documentMost), 'index.json');
  const entry = index.manifests.find(({ annotations }) => annotations?.[named] === name);
  const names = index.manifests.map(({ annotations }) => annotations?.[named] ?? '(none)').slice(0, 20);
  if (entry === undefined)
    throw refused(`${name} in the release`, names.join(', ') || 'nothing', 'name one that is there');
  const bytes = await source.read(blobOf(entry), documentMost);
  if (digestOf(bytes) !== entry.digest)
    throw refused(`a manifest with ${entry.digest}`, digestOf(bytes), 'name another source');
  const { layers } = document(manifestShape, bytes, 'the manifest');
  const files = layers.map((layer) => ({ ...layer, as: title.safeParse(layer.annotations?.[titled]).data }));
  if (files.some(({ as }) => as === undefined) || new Set(files.map(({ as }) => as)).size !== files.length)
    throw refused('a plain title of its own for each file', 'another', 'name another source');
  mkdirSync(out, { recursive: true });
  let done = 0;
  for (const { as, ...file } of files) {
    onProgress?.({ stage: 'fetch', done, of: files.length, unit: 'inputs', name: as! });
    await fetchFile(source, file, join(out, as!));
    done += 1;
  }
  onProgress?.({ stage: 'fetch', done, of: files.length, unit: 'inputs' });
  readImage(out);
  const signed = files.map(({ as }) => as!).filter((as) => /^manifest-\d\.cose$/.test(as));
  return { name, digest: entry.digest, signed: signed.map((as) => join(out, as)) };
}

type FileOfRelease = z.infer<typeof descriptor>;

async function fetchFile(source: ReleaseSource, file: FileOfRelease, path: string): Promise<void> {
  const hash = createHash('sha256');
  if (existsSync(path) && statSync(path).size === file.size) {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
    if (`sha256:${hash.digest('hex')}` === file.digest) return;
  }
  const partial = `${path}.partial`;
  const found = await bring(source, file, partial);
  if (found !== file.digest) {
    rmSync(partial, { force: true });
    throw new ConfigurationError('GUEST_INPUT_DIGEST', {
      ...{ expected: `${basename(path)} with ${file.digest}`, got: found, rule: 'OCI image-spec 1.1, descriptors' },
      action: 'fetch it again; where it stays so, the source has another file: name another',
    });
  }
  renameSync(partial, path);
}

/** @returns digest of what is there in the end; a part stays where the source breaks off */
async function bring(source: ReleaseSource, file: FileOfRelease, partial: string): Promise<string> {
  const had = existsSync(partial) ? statSync(partial).size : 0;
  const part = await source.open(blobOf(file), had > 0 && had < file.size ? had : 0);
  const hash = createHash('sha256');
  if (part.from > 0) for await (const chunk of createReadStream(partial)) hash.update(chunk as Buffer);
  const to = openSync(partial, part.from > 0 ? 'a' : 'w', 0o644);
  let size = part.from;
  try {
    for await (const chunk of part.bytes) {
      size += chunk.length;
      if (size > file.size) return `more than ${file.size} bytes`;
      hash.update(chunk);
      for (let at = 0; at < chunk.length; at += writeSync(to, chunk, at));
    }
  } finally {
    closeSync(to);
  }
  if (size < file.size) throw source.brokeOff(file.digest, size);
  return `sha256:${hash.digest('hex')}`;
}

/** @throws ConfigurationError GUEST_RELEASE */
function nameOf(tag: string, flavour: string): string {
  if (!tagShape.test(tag))
    throw refused('a tag of letters, digits, dots, dashes', tag.slice(0, 120), 'name another tag');
  return `${tag}-${flavour}`;
}

function document<T>(shape: z.ZodType<T>, bytes: Uint8Array, what: string): T {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw refused(`${what}: JSON`, 'something else', 'name a folder or address of a release');
  }
  const { success, data, error } = shape.safeParse(json);
  if (success) return data;
  const issue = error.issues[0]!;
  throw refused(`${what} of a release of guests`, `${issue.path.join('.')}: ${issue.message}`, 'name another source');
}

const blobOf = ({ digest }: { readonly digest: string }): string => `blobs/sha256/${digest.slice('sha256:'.length)}`;
const digestOf = (bytes: Uint8Array): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
