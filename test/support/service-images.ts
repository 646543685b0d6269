/**
 * Images of an OCI layout run as a container engine runs them: each service by the command, user and environment of its image, in
 * a root that is read-only but for `/tmp` and `/var/lib/veritrain`, with its settings at `/etc/veritrain`. Needs root.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startProcess, tailOf, type StartedProcess } from '#libs/process';

interface Descriptor {
  readonly digest: string;
  readonly annotations?: Readonly<Record<string, string>>;
}
interface Image {
  readonly layers: readonly Descriptor[];
  readonly config: Descriptor;
}
interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Cmd: readonly string[];
  readonly WorkingDir: string;
  readonly ExposedPorts: Readonly<Record<string, object>>;
  readonly Volumes: Readonly<Record<string, object>>;
}

interface ImageLayout {
  readonly names: readonly string[];
  configOf(name: string): ImageConfig;
  /** Makes a root of the image's layers. @throws Error where a layer is no tar */
  unpack(name: string, root: string): Promise<void>;
}

const nameOf = ({ annotations }: Descriptor): string => annotations!['org.opencontainers.image.ref.name']!;

export function readLayout(folder: string): ImageLayout {
  const json = (path: string): unknown => JSON.parse(readFileSync(join(folder, path), 'utf8'));
  const blob = ({ digest }: Descriptor): string => join('blobs/sha256', digest.slice('sha256:'.length));
  const { manifests } = json('index.json') as { manifests: readonly Descriptor[] };
  const imageOf = (name: string): Image => json(blob(manifests.find((each) => nameOf(each) === name)!)) as Image;
  return {
    names: manifests.map(nameOf),
    configOf: (name) => (json(blob(imageOf(name).config)) as { config: ImageConfig }).config,
    async unpack(name, root) {
      for (const at of ['', 'proc', 'dev', 'etc/veritrain']) mkdirSync(join(root, at), { recursive: true });
      for (const layer of imageOf(name).layers) {
        const { exited } = startProcess(['tar', '-xpf', join(folder, blob(layer)), '-C', root]);
        if ((await exited) !== 0) throw new Error(`${name}: ${layer.digest} is no tar`);
      }
    },
  };
}

/** Mounts of the process alone; `exec` keeps its id, so that signals reach the service. */
const contain = `set -e
root=$1 settings=$2 state=$3 uid=$4 gid=$5 at=$6
shift 6
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount --bind "$settings" "$root/etc/veritrain"
mount -o remount,bind,ro "$root/etc/veritrain"
mount --bind "$state" "$root/var/lib/veritrain"
mount -o remount,bind,ro "$root"
exec unshare --root="$root" --wd="$at" --setgid="$gid" --setuid="$uid" "$@"`;

interface Contained {
  readonly root: string;
  /** Folder at `/etc/veritrain`. */
  readonly settings: string;
  /** Folder at `/var/lib/veritrain`. */
  readonly state: string;
  /** Beyond the image's. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface ContainedService extends Pick<StartedProcess, 'exited' | 'stop'> {
  readonly pid: number;
  /** The end of what it printed. */
  said(): string;
}

export function startContained({ Env, Cmd, User, WorkingDir }: ImageConfig, around: Contained): ContainedService {
  const { root, settings, state, env } = around;
  const places = [root, settings, state, ...User.split(':'), WorkingDir];
  const command = ['/usr/bin/unshare', '--mount', '/bin/sh', '-c', contain, 'contain', ...places, ...Cmd] as const;
  const own = Object.fromEntries(Env.map((line) => line.split('=') as [string, string]));
  const { child, exited, stop } = startProcess([...command], {
    env: { ...own, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    endsWithUs: true,
  });
  const said = [tailOf(child.stdout!, 20_000), tailOf(child.stderr!, 20_000)];
  return { pid: child.pid!, exited, stop, said: () => said.map((each) => each()).join('\n') };
}
