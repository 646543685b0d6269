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
  /^(attestation|libs\/[a-z-]+)\/src\/index\.ts$|^libs\/wire\/src\/channel\/index\.ts$|^attestation\/src\/(base|records)\/index\.ts$|^libs\/zk\/src\/(verifier|commit|commit\/kernels|groth16|groth16\/commitment)\/index\.ts$/;

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
const readsJob = /\b(parseJobSpec|parseTermsJson|parseManifestText)\(/;
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
