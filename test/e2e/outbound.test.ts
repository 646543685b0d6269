/**
 * Nothing of ours or of a dependency phones home or writes outside its folders: every kind of process works on a job,
 * traced, and what it writes and whom it reaches is on its list. Without strace the home and temporary folders are
 * compared before and after.
 */
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nodeCommand } from '#libs/process';
import { deedsOf, mayTrace, straced, type Deeds } from '../support/strace.js';

const root = process.cwd();
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'veritrain-outbound-')));
const inside = (...path: string[]): string => join(folder, ...path);
const [home, temporary, log] = [inside('home'), inside('tmp'), inside('trace')];
const vendorFile = inside('work', 'vendor.json');
const isTraced = mayTrace();
/** What lies in shared temporary folders by name of those that do not ask where it is. */
const strays = (): string[] => readdirSync('/tmp').filter((name) => /^(mat-debug-.*\.log|\.ses)$/.test(name));
let before: string[];
let deeds: ReadonlyMap<string, Deeds>;

beforeAll(() => {
  for (const path of [home, temporary, inside('work')]) mkdirSync(path);
  const made = join(tmpdir(), 'veritrain-test-simulated-vendor.json');
  if (existsSync(made)) copyFileSync(made, vendorFile);
  before = strays();
  const node = nodeCommand('./traced-main', import.meta.url);
  const [file, ...words] = [...(isTraced ? straced(log) : []), ...node, inside('work'), vendorFile];
  const { ORT_DISABLE_TELEMETRY: _, ...environment } = process.env;
  const env = { ...environment, HOME: home, TMPDIR: temporary, XDG_CACHE_HOME: '', XDG_CONFIG_HOME: '' };
  const { status, stdout, stderr } = spawnSync(file!, words, { cwd: root, env, encoding: 'utf8' });
  if (status !== 0 || !stdout.includes('done')) throw new Error(stderr);
  if (isTraced) deeds = deedsOf(readFileSync(log, 'utf8'), kindOf, root);
  else
    process.stderr.write(
      'outbound: SKIPPED, strace is missing or may not trace: files and sockets were not looked at\n',
    );
}, 600_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function kindOf(words: readonly string[]): string {
  const entry = words.slice(1).find((word) => /\bmain\.[jt]s$|-main\.[jt]s$/.test(word)) ?? words[0]!;
  const [, name] = /(?:apps\/)?([\w-]+(?:\/src(?:\/\w+)*)?\/[\w-]+)\.[jt]s$/.exec(entry) ?? [];
  return (name ?? entry.split('/').at(-1)!).replace(/\/src\b/, '');
}

interface Allowed {
  readonly writes: readonly string[];
  /** Whether it may listen on this machine. */
  readonly listens?: boolean;
  /** Whether it may dial to this machine. */
  readonly dials?: boolean;
  /** Folders of sockets that it listens at or dials. */
  readonly sockets?: readonly string[];
}

const site = (...path: string[]): string => inside('work', 'system', ...path);
/** Node opens it in the place of standard streams that a child is not given. */
const devices = ['/dev/null'];
/** Under whose name the trace starts, before the program is run. */
const allowed: Readonly<Record<string, Allowed>> = {
  // A result lies in a temporary file until it is opened: it may be larger than memory.
  'e2e/traced-main': {
    writes: [inside('work'), join(temporary, 'veritrain-result-'), ...devices],
    listens: true,
    dials: true,
  },
  anvil: { writes: devices, listens: true },
  'control-plane/main': {
    writes: [site('control-plane'), join(root, '.veritrain', 'cache'), ...devices],
    listens: true,
    dials: true,
  },
  'key-broker/main': { writes: [site('broker'), ...devices], listens: true, dials: true },
  'host-agent/main': {
    writes: [site('simulated-node-1'), join(temporary, 'veritrain-enclave-'), ...devices],
    dials: true,
    sockets: [join(temporary, 'veritrain-enclave-')],
  },
  'enclave/main': {
    writes: [join(temporary, 'veritrain-enclave-'), ...devices],
    sockets: [join(temporary, 'veritrain-enclave-')],
  },
  'prover-worker/main': { writes: [site('prover-1'), ...devices], dials: true },
  'prover-worker/compute-main': { writes: devices },
  'enclave/engine/engine-main': { writes: devices },
};

const isAt = (places: readonly string[]) => (path: string) => places.some((place) => path.startsWith(place));
const isLoopback = (address: string): boolean => /^(127\.|::1:|::ffff:127\.)/.test(address);

describe('phoning home', () => {
  it('leaves home and temporary folders as they were', () => {
    expect(readdirSync(home)).toEqual([]);
    expect(readdirSync(temporary)).toEqual([]);
    expect(strays().filter((name) => !before.includes(name) && isOurs(name))).toEqual([]);
  });

  it.runIf(isTraced)('traces every kind of process that there is', () => {
    expect([...deeds.keys()].sort()).toEqual(Object.keys(allowed).sort());
  });

  it.runIf(isTraced).each(Object.entries(allowed))('%s: files and sockets are on its list', (name, list) => {
    const { writes, reads, listens, dials } = deeds.get(name)!;
    expect([...writes].filter((path) => !isAt(list.writes)(path))).toEqual([]);
    expect([...reads].filter((path) => /machine-id/.test(path))).toEqual([]);
    const isPermitted = (mayReach: boolean | undefined) => (address: string) =>
      address.startsWith('/') ? isAt(list.sockets ?? [])(address) : mayReach === true && isLoopback(address);
    expect([...listens].filter((address) => !isPermitted(list.listens)(address))).toEqual([]);
    expect([...dials].filter((address) => !isPermitted(list.dials)(address))).toEqual([]);
  });
});

/** Others on this machine may run what this test is about: without a trace nobody can tell whose a file in /tmp is. */
function isOurs(name: string): boolean {
  if (!isTraced) return false;
  return [...deeds.values()].some(({ writes }) => writes.has(join('/tmp', name)));
}
