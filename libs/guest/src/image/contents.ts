/** Everything in an image, by path: locked packages, the program as it is built, and the files of its flavour. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError } from '#attestation/base';
import { programFiles } from './closure.js';
import { compileInit, compilerParts, contentOf } from './compile.js';
import { fileMode, folderMode, programMode, type ImageEntry } from './cpio.js';
import { inputFile, readInput, type GuestInput } from './inputs.js';
import {
  guestFolder,
  packageInputs,
  repository,
  type Flavour,
  type GuestLock,
  type ImageList,
  type PackageInput,
} from './lock.js';
import { debianFiles, npmFiles, unxz } from './packages.js';
import type { ArchivedFile } from './tar.js';

interface Recipe {
  readonly flavour: Flavour;
  readonly lock: GuestLock;
  readonly list: ImageList;
  /** Packages of the program by folder. */
  readonly packages: ReadonlyMap<string, PackageInput>;
}

/** @throws ConfigurationError GUEST_LOCK */
export function recipeOf(flavour: Flavour, lock: GuestLock, list: ImageList): Recipe {
  return { flavour, lock, list, packages: packageInputs(list.flavours[flavour].packages) };
}

/** Every locked input of the flavour, those that only the build uses included. */
export function inputsOf({ lock, packages }: Recipe): readonly GuestInput[] {
  return [
    ...lock.debian.map((input) => ({ kind: 'debian', ...input }) as const),
    ...[...lock.npm, ...packages.values()].map((input) => ({ kind: 'npm', ...input }) as const),
  ];
}

export interface ImageContents {
  readonly kernel: Uint8Array;
  readonly entries: readonly ImageEntry[];
  /** Files of the disk that the command line pins, in flavours that have one. */
  readonly root?: readonly ImageEntry[];
  readonly firmware: Uint8Array;
}

type Unpacked = ReadonlyMap<string, ReadonlyMap<string, ArchivedFile>>;

/** Folders that PID 1 mounts at. */
const mountPoints = ['dev', 'proc', 'sys', 'tmp'];
/** And at this in flavours with a disk, as the file `etc/root` says. */
const rootPoint = 'usr';

/**
 * @param pathOf  where each input lies
 * @throws ConfigurationError GUEST_INPUT_DIGEST, GUEST_ARCHIVE, GUEST_CLOSURE, GUEST_COMPILER, GUEST_NOT_BUILT, GUEST_TOOL
 */
export function imageContents(recipe: Recipe, pathOf: ReadonlyMap<string, string>): ImageContents {
  const { lock, list, flavour } = recipe;
  const unpacked = unpack(recipe, pathOf);
  const member = (name: string, path: string): Uint8Array => {
    const files = unpacked.get(name);
    const bytes = files === undefined ? undefined : contentOf(files, path);
    if (bytes === undefined) throw absent(`${path} in ${name}`);
    return bytes;
  };
  const file = (path: string, bytes: Uint8Array, mode = fileMode): ImageEntry => ({ path, mode, bytes });
  const own = (name: string): Uint8Array => readFileSync(join(guestFolder, name));
  const sources = new Map(['init.c', 'root.h', 'words.h'].map((name) => [name, own(name)] as const));
  const compiler = new Map(Object.keys(compilerParts).map((name) => [name, unpacked.get(name) ?? new Map()] as const));
  const placed = ({ package: name, member: from, path, mode }: ImageList['system'][number]): ImageEntry => {
    const bytes = member(name, from);
    return file(path, from.endsWith('.xz') ? unxz(bytes) : bytes, mode === 'program' ? programMode : fileMode);
  };
  const { files, root } = list.flavours[flavour];
  return {
    kernel: member(lock.kernel.package, lock.kernel.member),
    firmware: member(lock.firmware.package, lock.firmware.member),
    entries: [
      file('init', compileInit(compiler, sources), programMode),
      ...[...mountPoints, ...(root ? [rootPoint] : [])].map((path) => ({
        path,
        mode: folderMode,
        bytes: new Uint8Array(),
      })),
      ...systemOf(recipe).map(placed),
      file('etc/enclave.argv', own(`argv.${flavour}`)),
      file('etc/modules', own(`modules.${flavour}`)),
      ...files.map(({ source, path }) => file(path, own(source))),
      ...programEntries(recipe, unpacked),
    ],
    ...(root && { root: root.map(placed) }),
  };
}

/** Files of the system in the initial RAM disk: of every flavour, and of this one. */
function systemOf({ list, flavour }: Pick<Recipe, 'list' | 'flavour'>): ImageList['system'] {
  return [...list.system, ...(list.flavours[flavour].system ?? [])];
}

function unpack({ flavour, lock, list, packages }: Recipe, pathOf: ReadonlyMap<string, string>): Unpacked {
  const bytesOf = (input: GuestInput): Uint8Array => {
    const path = pathOf.get(inputFile(input));
    if (path === undefined) throw absent(inputFile(input));
    return readInput(input, path);
  };
  const members = (name: string): ReadonlySet<string> =>
    new Set(
      [...systemOf({ list, flavour }), ...(list.flavours[flavour].root ?? []), lock.kernel, lock.firmware]
        .filter((item) => item.package === name)
        .map((item) => item.member),
    );
  const debian = lock.debian.map((input) => {
    const named = members(input.name);
    const compiles = compilerParts[input.name];
    // Libraries are links to versioned files beside them.
    const wanted = (path: string): boolean =>
      named.has(path) || compiles?.(path) === true || [...named].some((each) => path.startsWith(`${each}.`));
    return [input.name, debianFiles(bytesOf({ kind: 'debian', ...input }), wanted)] as const;
  });
  const npm = lock.npm.map((input) => {
    const named = members(`npm:${input.name}`);
    return [`npm:${input.name}`, npmFiles(bytesOf({ kind: 'npm', ...input }), (path) => named.has(path))] as const;
  });
  const program = [...packages].map(([folder, input]) => {
    const loaded = new Set(list.loaded.filter((each) => each.package === folder).flatMap(({ files }) => files));
    const wanted = (path: string): boolean => loaded.has(path) || /\.([cm]?js|json)$/.test(path);
    return [folder, npmFiles(bytesOf({ kind: 'npm', ...input }), wanted)] as const;
  });
  return new Map([...debian, ...npm, ...program]);
}

function programEntries({ list, flavour, packages }: Recipe, unpacked: Unpacked): readonly ImageEntry[] {
  const { imports } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
    imports: Readonly<Record<string, unknown>>;
  };
  const folders = [...packages.keys()].sort((a, b) => b.length - a.length);
  const read = (path: string): Uint8Array | undefined => {
    const folder = folders.find((each) => path.startsWith(`${each}/`));
    if (folder !== undefined) return unpacked.get(folder)!.get(path.slice(folder.length + 1))?.bytes;
    const built = join(repository, path);
    return path.startsWith('dist/') && existsSync(built) ? readFileSync(built) : undefined;
  };
  for (const path of list.program) if (read(path) === undefined) throw notBuilt(path);
  const { without } = list.flavours[flavour];
  const loaded = list.loaded
    .filter((each) => packages.has(each.package))
    .flatMap(({ package: folder, files }) => files.map((path) => `${folder}/${path}`));
  const found = programFiles({
    ...{ entries: list.program, without, absent: list.absent, imports, packages: folders, loaded, read },
  });
  const description = Buffer.from(`${JSON.stringify({ type: 'module', imports })}\n`);
  return [
    { path: 'app/package.json', mode: fileMode, bytes: description },
    ...[...found, ...loaded].map((path) => {
      const bytes = read(path);
      if (bytes === undefined) throw absent(path);
      return { path: `app/${path}`, mode: fileMode, bytes };
    }),
  ];
}

function absent(expected: string): ConfigurationError {
  return new ConfigurationError('GUEST_ARCHIVE', {
    ...{ expected, got: 'no such file', rule: 'enclave/guest/README.md, image' },
    action: 'name in enclave/guest/image.json what the locked packages have',
  });
}

function notBuilt(path: string): ConfigurationError {
  return new ConfigurationError('GUEST_NOT_BUILT', {
    ...{ expected: path, got: 'no such file', rule: 'enclave/guest/README.md, image' },
    action: 'npm run build',
  });
}
