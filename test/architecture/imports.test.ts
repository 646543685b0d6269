/** Who may import whom: .dependency-cruiser.cjs holds over the repository, and each of its rules catches a plant. */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { folders, root } from './tree.js';

interface Violation {
  readonly from: string;
  readonly to: string;
  readonly rule: { readonly name: string };
}

interface Module {
  readonly source: string;
  readonly dependencies: readonly { readonly resolved: string }[];
}

const { roots } = createRequire(import.meta.url)('../../.dependency-cruiser.cjs') as { roots: readonly string[] };
const isRoot = (source: string): boolean => roots.some((pattern) => new RegExp(pattern).test(source));

/** Modules of the project that nothing which starts by itself leads to. */
function unreached(modules: readonly Module[]): Violation[] {
  const dependencies = new Map(modules.map((module) => [module.source, module.dependencies]));
  const reached = new Set([...dependencies.keys()].filter(isRoot));
  for (const source of reached) for (const { resolved } of dependencies.get(source) ?? []) reached.add(resolved);
  return [...dependencies.keys()]
    .filter((source) => folders.some((folder) => source.startsWith(`${folder}/`)) && !reached.has(source))
    .map((source) => ({ from: source, to: source, rule: { name: 'reached' } }));
}

function violationsIn(folder: string): Violation[] {
  const tool = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
  const config = join(root, '.dependency-cruiser.cjs');
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [tool, '--config', config, '--output-type', 'json', ...folders],
    { cwd: folder, encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 },
  );
  if (stdout === '') throw new Error(stderr);
  const found = JSON.parse(stdout) as { summary: { violations: Violation[] }; modules: Module[] };
  return [...found.summary.violations, ...unreached(found.modules)];
}

it('holds over the repository', () => {
  const lines = violationsIn(root).map(({ from, to, rule }) => `${rule.name}: ${from} → ${to}`);
  expect(lines).toEqual([]);
}, 300_000);

/** File, its text, and the rule that must name it. */
const plants: readonly (readonly [file: string, text: string, rule: string])[] = [
  ['attestation/src/a.ts', `import '#libs/step';`, 'attestation-imports'],
  ['attestation/src/b.ts', `import type { x } from '#libs/step';`, 'attestation-imports'],
  ['attestation/src/c.ts', `import 'node:fs';`, 'attestation-node'],
  ['attestation/src/d.ts', `import 'zod';`, 'attestation-packages'],
  ['attestation/src/j.ts', `import 'cbor-x';`, 'attestation-packages'],
  ['attestation/src/e.ts', `import './missing.js';`, 'resolvable'],
  ['attestation/src/f.ts', `export const alone = 1;`, 'no-orphans'],
  ['attestation/src/g.ts', `import './base/bytes.js';`, 'reached'],
  ['attestation/src/h.ts', `import './i.js'; export const h = 1;`, 'no-cycles'],
  ['attestation/src/verdict/a.ts', `import '../records/former-bundle.js';`, 'former-bundles-at-the-door'],
  ['libs/step/src/a.ts', `import '../../../attestation/src/base/bytes.js';`, 'step-imports'],
  ['libs/step/src/d.ts', `import '#attestation';`, 'step-imports'],
  ['libs/step/src/b.ts', `import '#libs/zk/verifier';`, 'step-imports'],
  ['libs/step/src/c.ts', `import 'onnxruntime-node';`, 'step-packages'],
  ['libs/zk/src/verifier/a.ts', `import '../commit/kernels/index.js';`, 'zk-verifier-imports'],
  ['libs/zk/src/verifier/b.ts', `import '../prover/p.js';`, 'zk-verifier-imports'],
  ['libs/zk/src/verifier/c.ts', `import 'node:crypto';`, 'zk-verifier-node'],
  ['libs/zk/src/commit/kernels/a.ts', `import '../../transcript/t.js';`, 'zk-kernels-imports'],
  ['libs/zk/src/commit/a.ts', `import '../verifier/index.js';`, 'commitment-without-prover'],
  ['libs/zk/src/prover/a.ts', `import 'zod';`, 'zk-prover-packages'],
  ['enclave/src/a.ts', `import '@nestjs/common';`, 'enclave-packages'],
  ['enclave/src/b.ts', `import '#libs/simulated-vendor';`, 'enclave-imports'],
  ['enclave/src/c.ts', `import './attesters/simulated.js';`, 'simulated-only-when-asked'],
  ['enclave/src/d.ts', `import 'node:http';`, 'enclave-node'],
  ['enclave/src/e.ts', `import '#libs/wire';`, 'enclave-imports'],
  ['enclave/src/f.ts', `import 'onnxruntime-node';`, 'enclave-packages'],
  ['apps/cli/src/f.ts', `import 'onnxruntime-node';`, 'cli-packages'],
  ['enclave/src/engine/a.ts', `import 'onnxruntime-node';`, 'enclave-packages'],
  ['enclave/src/g.ts', `import '@hpke/core';`, 'enclave-packages'],
  ['enclave/src/h.ts', `import '#attestation';`, 'enclave-imports'],
  ['libs/wire/src/dispatch/a.ts', `import '../channel/index.js';`, 'wire-imports'],
  ['libs/wire/src/channel/a.ts', `import '../index.js';`, 'wire-channel-imports'],
  ['libs/wire/src/channel/b.ts', `import 'zod';`, 'wire-channel-packages'],
  ['libs/wire/src/dispatch/b.ts', `import '../../../../apps/cli/src/main.js';`, 'wire-imports'],
  ['libs/data/src/a.ts', `import '#libs/settlement';`, 'data-imports'],
  ['libs/data/src/b.ts', `import 'zod';`, 'data-packages'],
  ['libs/stray/src/a.ts', `import '#attestation';`, 'row-for-every-folder'],
  ['libs/settlement/src/a.ts', `import '@nestjs/common';`, 'settlement-packages'],
  ['apps/cli/src/a.ts', `import '../../host-agent/src/main.js';`, 'apps-apart'],
  ['apps/cli/src/b.ts', `import '../../../enclave/src/attesters/simulated.js';`, 'cli-imports'],
  ['apps/cli/src/c.ts', `import '../../../test/support/samples.js';`, 'test-support-for-tests'],
  ['apps/cli/src/d.ts', `import 'fast-check';`, 'installed-in-production'],
  ['apps/cli/src/e.ts', `import '#libs/wire/channel';`, 'cli-imports'],
  ['apps/cli/src/g.ts', `import '#libs/sealing';`, 'cli-imports'],
  ['apps/cli/src/h.ts', `import '../../../libs/client/src/job.js';`, 'cli-imports'],
  ['libs/client/src/a.ts', `import '../../../apps/cli/src/main.js';`, 'client-imports'],
  ['libs/models/src/a.ts', `import 'node:fs';`, 'models-node'],
  ['libs/models/src/b.ts', `import '#libs/onnx';`, 'models-imports'],
  ['libs/client/src/b.ts', `import 'commander';`, 'client-packages'],
  ['apps/host-agent/src/a.ts', `import '../../../enclave/src/session.js';`, 'host-agent-imports'],
  ['enclave/src/a.test.ts', `import '#libs/settlement';`, 'enclave-imports-in-tests'],
];

/** The second module of the planted cycle, of which one is named. */
const otherHalf = ['attestation/src/i.ts', `import './h.js'; export const i = 1;`] as const;

/** What the plants may lawfully use; none of it may be named. */
const sound: Readonly<Record<string, string>> = {
  'attestation/src/index.ts': `import './base/bytes.js';`,
  'attestation/src/base/index.ts': `export * from './bytes.js';`,
  'attestation/src/records/index.ts': `import '../base/bytes.js'; import './former-bundle.js';`,
  'attestation/src/records/former-bundle.ts': `export const former = 1;`,
  'attestation/src/base/bytes.ts': `import '@noble/hashes/sha2.js'; export const bytes = 1;`,
  'attestation/src/base/bytes.test.ts': `import 'vitest'; import 'node:fs'; import './bytes.js'; import '#test/samples';`,
  'libs/step/src/index.ts': `import '#attestation/records';`,
  'libs/zk/src/verifier/index.ts': `import '../transcript/t.js';`,
  'libs/zk/src/transcript/t.ts': `import '../commit/field/f.js'; export const t = 1;`,
  'libs/zk/src/commit/field/f.ts': `export const f = 1;`,
  'libs/zk/src/commit/kernels/index.ts': `import '../field/f.js';`,
  'libs/zk/src/index.ts': `import './prover/p.js';`,
  'libs/zk/src/prover/p.ts': `import '../commit/kernels/index.js'; import '../transcript/t.js'; export const p = 1;`,
  'libs/simulated-vendor/src/index.ts': `import '#attestation';`,
  'libs/wire/src/index.ts': `import 'zod';`,
  'libs/wire/src/channel/index.ts': `import '#attestation/base';`,
  'libs/settlement/src/index.ts': `import 'ethers';`,
  'libs/client/src/index.ts': `import '#libs/sealing'; import './job.js'; import 'ethers';`,
  'libs/client/src/job.ts': `import '#attestation'; export const job = 1;`,
  'enclave/src/main.ts': `import './session.js'; await import('./attesters/simulated.js');`,
  'libs/sealing/src/index.ts': `import '#attestation/records'; import '@hpke/core';`,
  'enclave/src/session.ts': `import '#libs/step'; import '#libs/sealing'; import './engine/engine.js';`,
  'enclave/src/engine/engine.ts': `import '#libs/onnx';`,
  'libs/onnx/src/index.ts': `import 'onnxruntime-node'; import 'node:worker_threads';`,
  'enclave/src/attesters/simulated.ts': `import '#libs/simulated-vendor';`,
  'apps/cli/src/main.ts': `import '#attestation'; import '#libs/client'; import 'commander';`,
  'apps/host-agent/src/main.ts': `import '#libs/wire/channel'; import type { x } from '#libs/wire/channel';`,
  'apps/control-plane/src/main.ts': `import '@nestjs/common';`,
  'contracts/script/s.ts': `import 'typechain';`,
  'migrations/index.ts': `import 'typeorm';`,
  'test/support/samples.ts': `import 'node:fs';`,
};

describe('planted violations', () => {
  const planted = mkdtempSync(join(tmpdir(), 'veritrain-imports-'));
  let found: Violation[] = [];

  beforeAll(() => {
    for (const name of ['package.json', 'tsconfig.json']) cpSync(join(root, name), join(planted, name));
    symlinkSync(join(root, 'node_modules'), join(planted, 'node_modules'));
    for (const [file, text] of [...Object.entries(sound), ...plants, otherHalf]) {
      mkdirSync(dirname(join(planted, file)), { recursive: true });
      writeFileSync(join(planted, file), text);
    }
    found = violationsIn(planted);
  }, 300_000);
  afterAll(() => rmSync(planted, { recursive: true, force: true }));

  it.each(plants)('%s: %s breaks %s', (file, _text, rule) => {
    expect(found.filter(({ from }) => from === file).map((violation) => violation.rule.name)).toContain(rule);
  });

  it('leaves what is sound alone', () => {
    expect(found.filter(({ from }) => from in sound)).toEqual([]);
  });
});
