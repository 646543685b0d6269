/** The enclave's image holds what the enclave's process reaches, of the step proofs nothing else. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';

const imports = (JSON.parse(readFileSync('package.json', 'utf8')) as { imports: Record<string, { source: string }> })
  .imports;

function fileOf(specifier: string, from: string): string | null {
  if (specifier.startsWith('.')) return normalize(join(dirname(from), specifier.replace(/\.js$/, '.ts')));
  const door = imports[specifier] ?? imports[specifier.replace(/\/[^/]+$/, '/*')];
  return door === undefined ? null : normalize(door.source.replace('*', specifier.split('/').at(-1)!));
}

/** Imports that are not erased, static or dynamic. */
function reached(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file) || !existsSync(file)) return seen;
  seen.add(file);
  for (const [, type, name] of readFileSync(file, 'utf8').matchAll(
    /^(?:import|export) (type )?[^;]*?from '([^']+)';/gms,
  )) {
    const next = type === undefined ? fileOf(name!, file) : null;
    if (next !== null) reached(next, seen);
  }
  return seen;
}

/** What the enclave's stage copies out of dist, as paths of sources. */
const copied = (/AS enclave\n(.*)$/s.exec(readFileSync('Dockerfile', 'utf8'))?.[1] ?? '')
  .split('\n')
  .flatMap((line) => [...line.matchAll(/\/veritrain\/dist\/(\S+)/g)].map(([, path]) => path!.replace(/\.js$/, '.ts')));
const isCopied = (file: string): boolean => copied.some((path) => file === path || file.startsWith(`${path}/`));

const files = [...reached('enclave/src/main.ts')];

it('has every module that the enclave reaches', () => {
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter((file) => !isCopied(file) && !file.startsWith('libs/simulated-vendor/'))).toEqual([]);
});

it('has no prover, verifier or other argument of libs/zk beside it', () => {
  const kept = copied.filter((path) => path.startsWith('libs/zk'));
  expect(kept.filter((path) => !files.some((file) => file === path || file.startsWith(`${path}/`)))).toEqual([]);
  expect(kept).not.toContain('libs/zk');
  for (const file of ['prover/prover.ts', 'verifier/verify.ts', 'groth16/index.ts'])
    expect(isCopied(`libs/zk/src/${file}`), file).toBe(false);
});

it('is small enough to be read: what the enclave loads, without kernels that a tool generates', () => {
  const written = files.filter((file) => existsSync(file) && !file.includes('/generated/'));
  const lines = written.reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length - 1, 0);
  expect(lines).toBeLessThanOrEqual(12_000);
});

it('has no judge of evidence: who trains does not appraise', () => {
  const isJudge = (file: string): boolean => /^attestation(?!\/src\/(base|records)(\/|$))/.test(file);
  expect([...files, ...copied].filter(isJudge)).toEqual([]);
});
