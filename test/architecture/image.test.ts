/** The enclave's image holds what the enclave's process reaches, of the step proofs nothing else. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadedBy, parseSource } from './source.js';

const imports = (JSON.parse(readFileSync('package.json', 'utf8')) as { imports: Record<string, { source: string }> })
  .imports;

function fileOf(specifier: string, from: string): string | null {
  if (specifier.startsWith('.')) return normalize(join(dirname(from), specifier.replace(/\.js$/, '.ts')));
  const door = imports[specifier] ?? imports[specifier.replace(/\/[^/]+$/, '/*')];
  return door === undefined ? null : normalize(door.source.replace('*', specifier.split('/').at(-1)!));
}

/** Modules that are loaded by name alone and are no part of what the enclave loads, each with why. */
const asides: Readonly<Record<string, string>> = {
  'enclave/src/attesters/simulated.ts':
    'Development and tests: it needs the simulated vendor, which the image lacks, so no guest can load it.',
};

interface Reach {
  readonly files: ReadonlySet<string>;
  /** `asides` that some file names. */
  readonly aside: ReadonlySet<string>;
  /** `file: import(…)` whose module no reader can tell. */
  readonly computed: readonly string[];
}

/** Imports that are not erased, static or dynamic. */
function reachOf(start: string, read: (file: string) => string | null): Reach {
  const [files, aside, computed] = [new Set<string>(), new Set<string>(), [] as string[]];
  const visit = (file: string): void => {
    const text = files.has(file) ? null : read(file);
    if (text === null) return;
    files.add(file);
    const loaded = loadedBy(parseSource(file, text));
    computed.push(...loaded.computed.map((call) => `${file}: ${call}`));
    for (const name of [...loaded.always, ...loaded.named]) {
      const next = fileOf(name, file);
      if (next === null) continue;
      if (loaded.named.includes(name) && Object.hasOwn(asides, next)) aside.add(next);
      else visit(next);
    }
  };
  visit(start);
  return { files, aside, computed };
}

const onDisk = (file: string): string | null => (existsSync(file) ? readFileSync(file, 'utf8') : null);

/** What the enclave's stage copies out of dist, as paths of sources. */
const copied = (/AS enclave\n(.*)$/s.exec(readFileSync('Dockerfile', 'utf8'))?.[1] ?? '')
  .split('\n')
  .flatMap((line) => [...line.matchAll(/\/veritrain\/dist\/(\S+)/g)].map(([, path]) => path!.replace(/\.js$/, '.ts')));
const isCopied = (file: string): boolean => copied.some((path) => file === path || file.startsWith(`${path}/`));

const reach = reachOf('enclave/src/main.ts', onDisk);
const files = [...reach.files];

it('has every module that the enclave reaches', () => {
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter((file) => !isCopied(file))).toEqual([]);
});

it('has no prover, verifier or other argument of libs/zk beside it', () => {
  const kept = copied.filter((path) => path.startsWith('libs/zk'));
  expect(kept.filter((path) => !files.some((file) => file === path || file.startsWith(`${path}/`)))).toEqual([]);
  expect(kept).not.toContain('libs/zk');
  for (const file of ['prover/prover.ts', 'verifier/verify.ts', 'groth16/index.ts'])
    expect(isCopied(`libs/zk/src/${file}`), file).toBe(false);
});

it('is small enough to be read: what the enclave loads, without kernels that a tool generates', () => {
  const written = files.filter((file) => !file.includes('/generated/'));
  const lines = written.reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length - 1, 0);
  // 12,000 for fxt/1 alone; a user's data sets, evaluations and the ops, losses and optimizers of fxt/2 came on top, and
  // 350 for what makes their training faster: joined parameters, parts of a batch, products in float32 with their checks;
  // 50 for the log of a bundle, which the records' door brings with it; 200 for what a run that leaves its range is told.
  // 100 keep large nets within 2 GB, 600 are for states in pieces, 200 for counts on edges, 30 for dates as text.
  // 135 choose a device and test it before it computes, and refuse a GPU that is not in confidential mode.
  // 150 are for commitments that proofs of many steps open: three profiles, and codewords that are hashed and dropped.
  // 60 take the platform's yes to an Ed25519 signature, which signed messages of every kind bring with them.
  // 540 are products by bytes, with the test of the processor before them, and the state in slices.
  // 225 are for the commitment to a whole set, the end of a unit, and trees of long codewords hashed by cosets.
  // 160 are for BLAKE3 beside keccak-256, and profiles on it.
  // 10 let an exported net answer in the label's own unit.
  // 80 apply a relu to the maxima of windows behind it.
  // 15 end what an exported net takes and answers with where the net's own ends are.
  // 120 hold a checkpoint's evaluations against its borders and the rule.
  // 20 keep to a carrier that is asked for and to the steps of a job.
  // 20 hold the segments of terms against the steps of the manifest, and an evaluation against its segment's session.
  // 130 take gradient sums of slices by bytes.
  // 30 keep numbers and names exact at the ends of what is allowed.
  // 60 tell which record of a forward pass was cut.
  expect(lines).toBeLessThanOrEqual(22_980);
});

it('has no judge of evidence: who trains does not appraise', () => {
  const isJudge = (file: string): boolean => /^attestation(?!\/src\/(base|records)(\/|$))/.test(file);
  expect([...files, ...copied].filter(isJudge)).toEqual([]);
});

describe('modules that the enclave loads by name', () => {
  it('are written out, and counted where no reason stands against it', () => {
    expect(reach.computed).toEqual([]);
    expect([...reach.aside]).toEqual(Object.keys(asides));
    expect(files).toContain('enclave/src/attesters/nvidia.ts');
  });

  it('cannot be loaded in the image where they are not counted', () => {
    for (const file of reach.aside) {
      const needed = [...reachOf(file, onDisk).files];
      expect(needed.filter((path) => path.startsWith('libs/simulated-vendor/') && !isCopied(path))).not.toEqual([]);
    }
  });

  it('are seen in a plant', () => {
    const planted: Readonly<Record<string, string>> = {
      'x/main.ts': `import './first.js';
        export const open = async (name: string) => [await import('./second.js'), await import(name)];
        type Third = typeof import('./third.js');`,
      'x/first.ts': `import type { third } from './third.js';`,
      'x/second.ts': `const { openSimulated } = await import('../enclave/src/attesters/simulated.js');`,
      'x/third.ts': '',
    };
    const found = reachOf('x/main.ts', (file) => planted[file] ?? null);
    expect([...found.files]).toEqual(['x/main.ts', 'x/first.ts', 'x/second.ts']);
    expect([...found.aside]).toEqual(['enclave/src/attesters/simulated.ts']);
    expect(found.computed).toEqual(['x/main.ts: import(name)']);
  });
});
