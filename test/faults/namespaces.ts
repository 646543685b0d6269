/**
 * Network namespaces, so that a partition is one of the kernel: the whole run is in a namespace of its own, where nothing
 * but itself can be reached, and each node in another one behind a veth pair whose end can be taken down.
 * @source network_namespaces(7), veth(4), ip-link(8)
 */
import { spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { nodeCommand, startProcess } from '#libs/process';

/** Of the hub, as nodes reach it. */
const hubAddress = '10.77.0.1';
const inside = 'VERITRAIN_TEST_NETWORK_NAMESPACE';

/** Why this process has no namespace of its own; null where it has one. */
export function namespaceMissing(): string | null {
  return process.env[inside] === 'own' ? null : (process.env[inside] ?? 'started outside of one');
}

/**
 * Runs this very command again in a network namespace of its own.
 * @returns its exit status; null where this process goes on: it is inside already, or there can be none, which is said
 */
export function enterNamespace(say: (line: string) => void): number | null {
  if (process.env[inside] !== undefined) return null;
  const missing = whyNot();
  process.env[inside] = missing ?? 'own';
  if (missing !== null) {
    say(`NO NETWORK NAMESPACES (${missing}): partitions hold the lines of a proxy instead`);
    return null;
  }
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  return spawnSync('unshare', ['--net', '--', ...again], { stdio: 'inherit' }).status ?? 1;
}

function whyNot(): string | null {
  if (process.platform !== 'linux') return `${process.platform} has none`;
  if (process.getuid?.() !== 0) return 'only root may make them';
  const probe = 'ip link set lo up && ip link add probe type veth peer name peer && nsenter --version';
  const { status, stderr, error } = spawnSync('unshare', ['--net', '--', 'sh', '-c', probe], { encoding: 'utf8' });
  if (status === 0) return null;
  return (error?.message ?? stderr.trim().split('\n').at(-1)) || `unshare ended with ${status}`;
}

/** The namespace of one node. */
export interface NodeNamespace {
  /** What a process is started under to be in it. */
  readonly under: readonly string[];
  /** Hands a port of its loopback interface on to the same port of the hub. */
  forward(port: number): void;
  /** Takes its line to everything else away, or gives it back. */
  plug(isIn: boolean): void;
  isPlugged(): boolean;
  close(): void;
}

/** To be called once, in the namespace of the run. */
export function openHub(): void {
  ip('link', 'set', 'lo', 'up');
  ip('addr', 'replace', `${hubAddress}/32`, 'dev', 'lo');
}

/**
 * A namespace whose processes dial their own loopback interface: they speak in the clear nowhere else. What they say goes
 * over the veth pair to the hub.
 * @param number  from 1, of the node
 */
export async function openNamespace(number: number): Promise<NodeNamespace> {
  const relay = await startRelay();
  const pid = String(relay.pid!);
  const under = ['nsenter', `--net=/proc/${pid}/ns/net`, '--'];
  const [line, hub, own] = [`node-${number}`, `10.77.${number}.1`, `10.77.${number}.2`];
  ip('link', 'add', line, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', pid);
  ip('addr', 'add', `${hub}/30`, 'dev', line);
  ip('link', 'set', line, 'up');
  const within = (...args: string[]): string => run(under[0]!, [...under.slice(1), 'ip', ...args]);
  within('link', 'set', 'lo', 'up');
  within('addr', 'add', `${own}/30`, 'dev', 'eth0');
  within('link', 'set', 'eth0', 'up');
  within('route', 'add', 'default', 'via', hub);
  return {
    under,
    forward: (port) => void relay.stdin!.write(`${port}\n`),
    plug: (isIn) => ip('link', 'set', line, isIn ? 'up' : 'down'),
    isPlugged: () => /<[^>]*\bUP\b/.test(run('ip', ['-o', 'link', 'show', 'dev', line])),
    close() {
      // The kernel takes a namespace down some time after its last process, and the names of its lines with it.
      ip('link', 'del', line);
      relay.kill('SIGKILL');
    },
  };
}

/** The process that keeps the namespace: it lasts as long as anything is in it. */
async function startRelay(): Promise<ChildProcess> {
  const command = nodeCommand('./relay-main', import.meta.url, [hubAddress]);
  const stdio = ['pipe', 'pipe', 'inherit'] as const;
  const { child: relay } = startProcess(['unshare', '--net', '--', ...command], { stdio: [...stdio] });
  await Promise.race([
    once(relay.stdout!, 'data'),
    once(relay, 'exit').then(() => Promise.reject(new Error('the relay of a network namespace did not start'))),
  ]);
  return relay;
}

function ip(...args: string[]): void {
  run('ip', args);
}

/** @returns what it prints */
function run(file: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(file, [...args], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${[file, ...args].join(' ')}: ${stderr}`);
  return stdout;
}
