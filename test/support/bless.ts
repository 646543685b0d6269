/** `npm run bless`: golden artefacts from what they are made of. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { policyJsonSchema } from '#attestation';
import { defaultCacheDirectory, dumpSchema, openDatabase } from '#libs/persistence';
import { createProgram } from '../../apps/cli/src/program.js';
import { renderReference } from '../../apps/cli/src/reference.js';
import { compiledAlone } from '../../contracts/script/artefacts.js';
import { readCommandLine } from './command-line.js';
import { renderComparison } from './comparison.js';

readCommandLine(
  `npm run bless
  Makes every golden artefact again from what it is made of. What changed shows in \`git diff\`; each of these files is
  also held by a test, so a forgotten run is noticed.`,
  {},
);

/** From here on paths are those of the repository: npm starts scripts in its root. */
const fromSource = ['--conditions=source', '--import', '@oxc-node/core/register'];

function runTool(file: string, args: readonly string[]): void {
  const { status } = spawnSync(file, args, { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error(`${file} ${args.join(' ')} failed`);
}

function forge(): string {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const require = createRequire(import.meta.url);
  const manifest = require.resolve(`@foundry-rs/forge-${process.platform}-${arch}/package.json`);
  return join(dirname(manifest), 'bin', 'forge');
}

async function blessDatabaseSchema(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'veritrain-bless-'));
  const database = await openDatabase({
    kind: 'embedded',
    dataDirectory: directory,
    cacheDirectory: defaultCacheDirectory(),
  });
  try {
    writeFileSync('migrations/schema.sql', await dumpSchema(database.dataSource));
  } finally {
    await database.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

const artefacts: Readonly<Record<string, () => void | Promise<void>>> = {
  'apps/cli/COMMANDS.md': async () => writeFileSync('apps/cli/COMMANDS.md', renderReference(await createProgram())),
  'libs/zk/COMPARISON.md': () => writeFileSync('libs/zk/COMPARISON.md', renderComparison()),
  'attestation/src/appraisal/policy.schema.json': () =>
    writeFileSync('attestation/src/appraisal/policy.schema.json', `${JSON.stringify(policyJsonSchema(), null, 2)}\n`),
  'migrations/schema.sql': blessDatabaseSchema,
  'apps/control-plane/openapi.json, apps/control-plane/schema.graphql': () =>
    runTool(process.execPath, [...fromSource, 'apps/control-plane/src/write-documents.ts']),
  'libs/zk/src/commit/kernels/generated/kernels.ts': () =>
    runTool(process.execPath, ['libs/zk/src/commit/kernels/build.mjs']),
  'contracts/abi, libs/settlement/src/types': () => {
    const forTests = ['PlantedSplitVerifiers', 'WeakProofHead', 'WeakStepVerifier'];
    runTool(forge(), ['build', 'contracts/src', ...forTests.map((name) => `contracts/test/${name}.sol`)]);
    const apart = ['--out', 'contracts/out/alone', '--cache-path', 'contracts/cache/alone'];
    runTool(forge(), ['build', `contracts/src/verifiers/zk/${compiledAlone}.sol`, ...apart]);
    runTool(process.execPath, [...fromSource, 'contracts/script/artefacts.ts']);
  },
};

const formatted = ['attestation/src/appraisal/policy.schema.json', 'libs/settlement/src/types'];

for (const [name, bless] of Object.entries(artefacts)) {
  process.stderr.write(`bless: ${name} …\n`);
  await bless();
}
runTool(process.execPath, ['node_modules/prettier/bin/prettier.cjs', '--log-level', 'warn', '--write', ...formatted]);
process.stderr.write('bless: done; look at `git diff`\n');
