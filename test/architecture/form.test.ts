/** The form of the sources: verdicts are no booleans, doors are the only barrels, limits have their places. */
import { describe, expect, it } from 'vitest';
import { booleanVerdicts, constantsOf, hasStarExport, isBarrel, parseSource } from './source.js';
import { filesBelow, folders, textOf } from './tree.js';

const sources = folders
  .flatMap((folder) => filesBelow(folder, /\.ts$/))
  .filter(
    (path) => !path.endsWith('.test.ts') && !path.endsWith('.d.ts') && !path.startsWith('libs/settlement/src/types/'),
  )
  .filter((path) => !path.startsWith('libs/zk/src/commit/kernels/assembly/'))
  .map((path) => ({ path, source: parseSource(path, textOf(path)) }));

describe('functions that verify or appraise', () => {
  it('return what they found or throw why not, never a boolean', () => {
    const found = sources.flatMap(({ path, source }) => booleanVerdicts(source).map((what) => `${path}: ${what}`));
    expect(found).toEqual([]);
  });

  it.each([
    ['export function verifyX(): boolean { return true; }', 'verifyX: boolean'],
    ['export async function verifyX(): Promise<boolean> { return true; }', 'verifyX: boolean'],
    ['const appraise = (x: unknown): x is string => true;', 'appraise: boolean'],
    ['class A { verifyAll() { return 1; } }', 'verifyAll: no return type'],
    ['interface A { appraiseAll(): boolean }', 'appraiseAll: boolean'],
  ])('catches %s', (text, expected) => {
    expect(booleanVerdicts(parseSource('planted.ts', text))).toEqual([expected]);
  });

  it('leaves other names alone', () => {
    expect(booleanVerdicts(parseSource('planted.ts', 'function verified(): boolean { return true; }'))).toEqual([]);
  });
});

/** A door is the only way into a folder: these re-export, name by name, and nothing else does. */
const doors =
  /^(attestation|libs\/[a-z-]+)\/src\/index\.ts$|^libs\/onnx\/src\/runtime\.ts$|^libs\/(client\/src\/(api|files|judging)|review\/src\/text|wire\/src\/channel)\/index\.ts$|^attestation\/src\/(base|log|records)\/index\.ts$|^libs\/zk\/src\/(verifier|commit|commit\/kernels|groth16|groth16\/commitment)\/index\.ts$/;

describe('doors', () => {
  it('are the only barrels', () => {
    expect(sources.filter(({ path, source }) => isBarrel(source) && !doors.test(path)).map(({ path }) => path)).toEqual(
      [],
    );
  });

  it('name what goes through', () => {
    expect(sources.filter(({ source }) => hasStarExport(source)).map(({ path }) => path)).toEqual([]);
  });

  it('catches a barrel and a star', () => {
    expect(isBarrel(parseSource('planted.ts', "export { a } from './a.js';"))).toBe(true);
    expect(isBarrel(parseSource('planted.ts', "export { a } from './a.js';\nexport const b = 1;"))).toBe(false);
    expect(hasStarExport(parseSource('planted.ts', "export * from './a.js';"))).toBe(true);
  });
});

/**
 * Bounds on bytes that come from outside stand in a limits.ts, or in the one module that reads that format, where its
 * reader checks them first. A new place is a decision: name it here.
 */
const limitPlaces = [
  /\/limits\.ts$/,
  /^attestation\/src\/records\/(dataset-manifest|evidence|job-spec|receipt|terms)\.ts$/,
  /^attestation\/src\/nvidia\/constants\.ts$/,
  /^libs\/wire\/src\/channel\/frames\.ts$/,
  /^enclave\/src\/attesters\/tsm\.ts$/,
  /^enclave\/src\/engine\/engine-main\.ts$/,
  /^libs\/zk\/src\/verifier\/source\.ts$/,
];
const sized = /(Bytes|Characters|Answer|Text|Bundle)Max$/;
/** Prover and kernels read nothing from outside. */
const bounded = (path: string): boolean =>
  /^(attestation|enclave|libs)\/(?!zk\/src\/(prover|commit\/kernels)\/)/.test(path);

describe('limits on inbound bytes', () => {
  it('stand where limits stand', () => {
    const strays = sources
      .filter(({ path }) => bounded(path) && !limitPlaces.some((place) => place.test(path)))
      .flatMap(({ path, source }) =>
        constantsOf(source)
          .filter((name) => sized.test(name))
          .map((name) => `${path}: ${name}`),
      );
    expect(strays).toEqual([]);
  });

  it('are all used', () => {
    const unused = sources
      .filter(({ path }) => path.endsWith('/limits.ts'))
      .flatMap(({ path, source }) => constantsOf(source).map((name) => ({ path, name })))
      .filter(({ path, name }) => {
        const word = new RegExp(`\\b${name}\\b`);
        return !sources.some((other) => other.path !== path && word.test(other.source.text));
      });
    expect(unused).toEqual([]);
  });

  it('catches a stray', () => {
    expect(
      constantsOf(parseSource('planted.ts', 'export const reportBytesMax = 5;')).filter((n) => sized.test(n)),
    ).toEqual(['reportBytesMax']);
  });
});

/** Where the control plane may read a spec or terms: of a row once (openJob), of a submission, of former deployments. */
const readersOfJobs = /^apps\/control-plane\/src\/jobs\/(open-job|submission|known-manifests|escrow-terms)\.ts$/;
const readsJob = /\b(parseJobSpec|parseTermsJson|parseManifestText|parseJobManifestText)\(/;
const strayReaders = (texts: readonly (readonly [path: string, text: string])[]): string[] =>
  texts.filter(([path, text]) => readsJob.test(text) && !readersOfJobs.test(path)).map(([path]) => path);

describe('jobs in the control plane', () => {
  it('are read in one place', () => {
    const control = sources.filter(({ path }) => path.startsWith('apps/control-plane/src/'));
    const texts = control.map(({ path }) => [path, textOf(path)] as const);
    expect(strayReaders(texts)).toEqual([]);
    expect(texts.filter(([, text]) => readsJob.test(text))).toHaveLength(4);
  });

  it('are caught where another file parses a spec', () => {
    const text = 'const spec = parseJobSpec(new Uint8Array(job.spec));';
    const planted = ['jobs/open-job', 'claims/lease-store', 'jobs/jobs.service'].map(
      (name) => [`apps/control-plane/src/${name}.ts`, text] as const,
    );
    expect(strayReaders(planted)).toEqual(planted.slice(1).map(([path]) => path));
  });
});

/** Where processes are started beside libs/process, and why. */
const otherStarters: Readonly<Record<string, string>> = {
  'libs/zk/src/groth16/toolchain/compile.ts': 'runs a compiler to its end and keeps all that it prints',
  'test/bench/peers/ultrahonk.ts': 'runs tools of a peer to their end and keeps all that they print',
  'contracts/script/mutation-copy.ts': 'a time limit of its own on forge',
};
const startsProcess = (text: string): boolean =>
  [...text.matchAll(/import (?:type )?\{([^}]*)\} from 'node:child_process'/g)].some(([, names]) =>
    /\b(spawn|fork|exec|execFile)\b/.test(names!),
  ) || /import (\w|\*)[^;{]* from 'node:child_process'|(import|require)\('node:child_process'\)/.test(text);
/** A pause by hand; `node:timers/promises` has one. */
const pausesByHand = (text: string): boolean =>
  /new Promise(<\w+>)?\(\((\w+)\) => (void )?setTimeout\((\2\b|\(\) => \2\()/.test(text);
/** In a page, and in the enclave, which load no module of Node for a pause. */
const otherPauses = ['apps/console/src/reviewer/judge.ts', 'enclave/src/attesters/tsm.ts'];

describe('processes and pauses', () => {
  it('are started in libs/process', () => {
    const strays = sources.filter(
      ({ path, source }) => startsProcess(source.text) && !path.startsWith('libs/process/'),
    );
    expect(strays.map(({ path }) => path).sort()).toEqual(Object.keys(otherStarters).sort());
  });

  it('are paused by the timers of Node', () => {
    const files = folders
      .flatMap((folder) => filesBelow(folder, /\.ts$/))
      .filter((path) => !path.endsWith('form.test.ts'));
    expect(files.filter((path) => pausesByHand(textOf(path)))).toEqual(otherPauses);
  });

  it.each([
    "import { spawn } from 'node:child_process';",
    "import { spawnSync, fork as split, type ChildProcess } from 'node:child_process';",
    "import * as processes from 'node:child_process';",
    "const { exec } = await import('node:child_process');",
  ])('catches %s', (text) => {
    expect(startsProcess(text)).toBe(true);
  });

  it('leaves tools that are waited for, and types, alone', () => {
    expect(startsProcess("import { spawnSync, type ChildProcess } from 'node:child_process';")).toBe(false);
    expect(startsProcess("import type { ChildProcess } from 'node:child_process';")).toBe(false);
  });

  it.each([
    'await new Promise((resolve) => setTimeout(resolve, 5));',
    'new Promise<void>((done) => void setTimeout(done, 5).unref())',
    'new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 5))',
  ])('catches %s', (text) => {
    expect(pausesByHand(text)).toBe(true);
  });
});
