/** Fetching one input with the clients of its registry: APT's downloader and `npm pack`. */
import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigurationError } from '#attestation/base';
import { startProcess, tailOf } from '#libs/process';
import type { DebianInput, PackageInput } from './lock.js';

type FetchOutcome = 'fetched' | 'gone' | 'unreachable' | 'oversize';

const wordsMax = 20_000;

interface Ran {
  readonly status: number | null;
  readonly said: string;
  /** Why it was ended from here. */
  readonly ended?: 'oversize' | 'slow';
}

/** What a source may take: it is nobody's friend until the digest is right. */
interface Bounds {
  readonly withinMs: number;
  /** The file that grows, and how large it may be. */
  readonly file?: { readonly path: string; readonly bytesMost: number };
}

/** A source that is slower than this for a whole input is given up. */
const leastBytesPerSecond = 32 * 1024;
const patienceUsualMs = 120_000;
const npmWithinMs = 30 * 60_000;
const lookMs = 50;

/**
 * @param patienceMs  besides the time that the slowest source may take for the input's bytes
 * @throws ConfigurationError GUEST_TOOL
 */
export async function fetchDebian(
  { file, bytes }: DebianInput,
  to: string,
  mirrors: readonly string[] = [],
  patienceMs = patienceUsualMs,
): Promise<FetchOutcome> {
  const bases = mirrors.length > 0 ? mirrors : await ownSources();
  let outcome: FetchOutcome = 'gone';
  for (const base of bases) {
    const uri = `${base.replace(/\/*$/, '/')}${encodeURI(file)}`;
    const { status, said, ended } = await tool(
      ['/usr/lib/apt/apt-helper', '-o', 'Acquire::Retries=1', 'download-file', uri, to],
      'apt',
      { withinMs: patienceMs + (1000 * bytes) / leastBytesPerSecond, file: { path: to, bytesMost: bytes } },
    );
    if (status === 0) return 'fetched';
    rmSync(to, { force: true });
    if (ended === 'oversize') outcome = 'oversize';
    else if (outcome === 'gone' && !/\b404\b|\b410\b|File not found/.test(said)) outcome = 'unreachable';
  }
  return outcome;
}

/** Addresses of the archives in the machine's APT sources. */
async function ownSources(): Promise<readonly string[]> {
  const { said } = await tool(['apt-get', 'indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages'], 'apt');
  return [...new Set(said.split('\n').filter((line) => /^(https?|file):\/\//.test(line)))];
}

/** @param to  in a folder that has nothing else @throws ConfigurationError GUEST_TOOL */
export async function fetchNpm({ name, version }: PackageInput, to: string): Promise<FetchOutcome> {
  const folder = dirname(to);
  const words = ['pack', '--ignore-scripts', '--prefer-offline', '--pack-destination', folder, `${name}@${version}`];
  const { status, said } = await tool(['npm', ...words], 'npm', { withinMs: npmWithinMs });
  const [packed] = readdirSync(folder);
  if (status !== 0 || packed === undefined) return /\bE404\b|\bETARGET\b/.test(said) ? 'gone' : 'unreachable';
  renameSync(join(folder, packed), to);
  return 'fetched';
}

async function tool(command: readonly [string, ...string[]], title: string, bounds?: Bounds): Promise<Ran> {
  const { child, exited, kill } = startProcess(command, { stdio: ['ignore', 'pipe', 'pipe'], endsWithUs: true });
  if (child.pid === undefined) {
    await exited;
    throw new ConfigurationError('GUEST_TOOL', {
      expected: `the program ${command[0]}`,
      got: 'none',
      rule: 'enclave/guest/README.md, inputs',
      action: `install ${title}, or name a folder that has the inputs with --inputs`,
    });
  }
  const [out, err] = [tailOf(child.stdout!, wordsMax), tailOf(child.stderr!, wordsMax)];
  const ends = [child.stdout!, child.stderr!].map((stream) => new Promise((resolve) => stream.once('close', resolve)));
  const begun = performance.now();
  let ended: Ran['ended'];
  const look = setInterval(() => {
    ended ??= excessOf(bounds, performance.now() - begun);
    if (ended !== undefined) void kill();
  }, lookMs);
  const [status] = await Promise.all([exited, ...ends]);
  clearInterval(look);
  return { status, said: `${out()}\n${err()}`, ...(ended && { ended }) };
}

function excessOf(bounds: Bounds | undefined, passedMs: number): Ran['ended'] {
  if (bounds === undefined) return undefined;
  const size = bounds.file && statSync(bounds.file.path, { throwIfNoEntry: false })?.size;
  if (size !== undefined && size > bounds.file!.bytesMost) return 'oversize';
  return passedMs > bounds.withinMs ? 'slow' : undefined;
}
