/** Locked inputs as bytes: from the cache, from a folder that the caller has, or from where the machine gets its packages. */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CollateralError, ConfigurationError } from '#attestation/base';
import { isAlive, thisProcess } from '#libs/process';
import { fetchDebian, fetchNpm } from './fetch.js';
import { inputBytesMax } from './limits.js';
import type { DebianInput, PackageInput } from './lock.js';
import type { GuestProgress } from './progress.js';

export type GuestInput = ({ readonly kind: 'debian' } & DebianInput) | ({ readonly kind: 'npm' } & PackageInput);

export interface InputSources {
  /** Kept between builds; whole files, and folders `.partial` that go with the process that they name. */
  readonly cache: string;
  /** Asked after the cache: files by the names that `inputFile` gives. */
  readonly folder?: string | undefined;
  /** Addresses that have `pool/`, for example a snapshot of an archive; else those of the machine's own sources. */
  readonly mirrors?: readonly string[] | undefined;
  /** Before a slow source is given up, besides the time that the bytes of the input may take. */
  readonly patienceMs?: number | undefined;
  readonly onProgress?: ((progress: GuestProgress) => void) | undefined;
}

/** Its name in the cache and in a folder of inputs: as `apt-get download` and `npm pack` name it. */
export function inputFile(input: GuestInput): string {
  if (input.kind === 'debian') return basename(input.file);
  return `${input.name.replace(/^@/, '').replace('/', '-')}-${input.version}.tgz`;
}

/** What an input must hash to, for people and records: `sha256:HEX` or as npm writes it. */
export function inputDigest(input: GuestInput): string {
  return input.kind === 'debian' ? `sha256:${input.sha256}` : input.integrity;
}

/**
 * Sees to it that every input is in the cache or the folder, with the right digest.
 * @returns paths by input
 * @throws ConfigurationError GUEST_INPUT_DIGEST, GUEST_INPUT_GONE, GUEST_TOOL; CollateralError GUEST_INPUT_UNREACHABLE
 */
export async function obtainInputs(
  inputs: readonly GuestInput[],
  sources: InputSources,
): Promise<ReadonlyMap<GuestInput, string>> {
  const { onProgress } = sources;
  mkdirSync(sources.cache, { recursive: true });
  removeAbandoned(sources.cache);
  const paths = new Map<GuestInput, string>();
  for (const input of inputs) {
    onProgress?.({ stage: 'fetch', done: paths.size, of: inputs.length, unit: 'inputs', name: titleOf(input) });
    paths.set(input, await obtain(input, sources));
  }
  onProgress?.({ stage: 'fetch', done: paths.size, of: inputs.length, unit: 'inputs' });
  return paths;
}

/** @throws ConfigurationError GUEST_INPUT_DIGEST */
export function readInput(input: GuestInput, path: string): Uint8Array {
  const { size } = statSync(path);
  if (size > inputBytesMax) throw wrongDigest(input, path, `${size} bytes`);
  const bytes = readFileSync(path);
  const found = digestLike(input, bytes);
  if (found !== inputDigest(input)) throw wrongDigest(input, path, found);
  return bytes;
}

function digestLike(input: GuestInput, bytes: Uint8Array): string {
  if (input.kind === 'debian') return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  return `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
}

async function obtain(input: GuestInput, { cache, folder, mirrors, patienceMs }: InputSources): Promise<string> {
  const name = inputFile(input);
  for (const place of [cache, ...(folder === undefined ? [] : [folder])]) {
    const path = join(place, name);
    if (!existsSync(path)) continue;
    readInput(input, path);
    return path;
  }
  const partial = join(cache, partialName(name));
  mkdirSync(partial);
  try {
    const file = join(partial, name);
    const outcome = await (input.kind === 'debian'
      ? fetchDebian(input, file, mirrors, patienceMs)
      : fetchNpm(input, file));
    if (outcome === 'gone') throw gone(input, name);
    if (outcome === 'unreachable') throw unreachable(input);
    if (outcome === 'oversize') throw wrongDigest(input, name, 'more bytes than the lock says', sourceAction);
    readInput(input, file);
    renameSync(file, join(cache, name));
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
  return join(cache, name);
}

/** A folder of its own, since others may fetch the same into the same cache; its name says whose it is. */
function partialName(name: string): string {
  return `${name}.${thisProcess().replace(' ', '-')}-${randomBytes(4).toString('hex')}.partial`;
}

/** What processes left that were killed; neither client would go on with it. */
function removeAbandoned(cache: string): void {
  for (const name of readdirSync(cache)) {
    if (!name.endsWith('.partial')) continue;
    const [, pid, started] = /\.(\d+)-(\d+)-[0-9a-f]{8}\.partial$/.exec(name) ?? [];
    if (!isAlive(`${pid} ${started}`)) rmSync(join(cache, name), { recursive: true, force: true });
  }
}

const rule = 'enclave/guest/README.md, inputs';
const titleOf = ({ name, version }: GuestInput): string => `${name} ${version}`;

function gone(input: GuestInput, name: string): ConfigurationError {
  return new ConfigurationError('GUEST_INPUT_GONE', {
    expected: `${titleOf(input)}, ${inputDigest(input)}`,
    got: 'no source that still has it',
    rule,
    action: `put ${name} into a folder and name it with --inputs, or name a snapshot of the archive with --mirror`,
  });
}

function unreachable(input: GuestInput): CollateralError {
  return new CollateralError('GUEST_INPUT_UNREACHABLE', {
    expected: titleOf(input),
    got: 'no answer from any source',
    rule,
    action: 'try again; what has come is kept. Or name a folder that has it with --inputs',
  });
}

const sourceAction = 'name another source with --mirror: this one sends another file';

function wrongDigest(
  input: GuestInput,
  path: string,
  got: string,
  action = `${path} is another file: remove it`,
): ConfigurationError {
  return new ConfigurationError('GUEST_INPUT_DIGEST', {
    expected: `${titleOf(input)} with ${inputDigest(input)}`,
    got,
    rule,
    action,
  });
}
