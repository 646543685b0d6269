/** Fetching one input with the clients of its registry: APT's downloader and `npm pack`. */
import { mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigurationError } from '#attestation/base';
import { startProcess, tailOf } from '#libs/process';
import type { DebianInput, PackageInput } from './lock.js';

type FetchOutcome = 'fetched' | 'gone' | 'unreachable';

const wordsMax = 20_000;

interface Ran {
  readonly status: number | null;
  readonly said: string;
}

/** @throws ConfigurationError GUEST_TOOL */
export async function fetchDebian(
  { file }: DebianInput,
  to: string,
  mirrors: readonly string[] = [],
): Promise<FetchOutcome> {
  const bases = mirrors.length > 0 ? mirrors : await ownSources();
  let outcome: FetchOutcome = 'gone';
  for (const base of bases) {
    const uri = `${base.replace(/\/*$/, '/')}${encodeURI(file)}`;
    const { status, said } = await tool(
      ['/usr/lib/apt/apt-helper', '-o', 'Acquire::Retries=1', 'download-file', uri, to],
      'apt',
    );
    if (status === 0) return 'fetched';
    if (!/\b404\b|\b410\b|File not found/.test(said)) outcome = 'unreachable';
  }
  return outcome;
}

/** Addresses of the archives in the machine's APT sources. */
async function ownSources(): Promise<readonly string[]> {
  const { said } = await tool(['apt-get', 'indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages'], 'apt');
  return [...new Set(said.split('\n').filter((line) => /^(https?|file):\/\//.test(line)))];
}

/** @throws ConfigurationError GUEST_TOOL */
export async function fetchNpm({ name, version }: PackageInput, to: string): Promise<FetchOutcome> {
  const folder = mkdtempSync(join(dirname(to), 'npm-'));
  try {
    const words = ['pack', '--ignore-scripts', '--prefer-offline', '--pack-destination', folder, `${name}@${version}`];
    const { status, said } = await tool(['npm', ...words], 'npm');
    const [packed] = readdirSync(folder);
    if (status !== 0 || packed === undefined) return /\bE404\b|\bETARGET\b/.test(said) ? 'gone' : 'unreachable';
    renameSync(join(folder, packed), to);
    return 'fetched';
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function tool(command: readonly [string, ...string[]], title: string): Promise<Ran> {
  const { child, exited } = startProcess(command, { stdio: ['ignore', 'pipe', 'pipe'], endsWithUs: true });
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
  const [status] = await Promise.all([exited, ...ends]);
  return { status, said: `${out()}\n${err()}` };
}
