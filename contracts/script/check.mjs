#!/usr/bin/env node
/**
 * The contracts' gate: proofs made for the tests, unit, fuzz and simulation tests, then the exact gas snapshots: each call
 * of the escrow a transaction of its own, and on anvil the verifiers of proofs and of SNP evidence.
 * `--bless` writes the snapshots instead of checking them; `--solidity` leaves out what `npm test` and its wide form run.
 */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const arch = process.arch === 'x64' ? 'amd64' : process.arch;
const require = createRequire(import.meta.url);
const forge = join(dirname(require.resolve(`@foundry-rs/forge-${process.platform}-${arch}/package.json`)), 'bin/forge');
const root = join(import.meta.dirname, '../..');

function run(args, env = {}, file = forge) {
  const { status } = spawnSync(file, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } });
  if (status !== 0) process.exit(status ?? 1);
}

const fromSource = ['--conditions=source', '--import', '@oxc-node/core/register'];
run([...fromSource, 'contracts/test/zk-jobs-main.ts'], {}, process.execPath);
// What a test deploys by its name alone, `forge test` does not compile.
run(['build']);
run(['test', '--no-match-contract', 'GasTest']);
const isBlessing = process.argv.includes('--bless');
const check = isBlessing ? {} : { FORGE_SNAPSHOT_CHECK: 'true' };
run(['test', '--match-contract', 'GasTest'], { FOUNDRY_ISOLATE: 'true', GAS_ISOLATED: '1', ...check });
const widths = process.argv.includes('--solidity') ? [] : [{}, { VERITRAIN_WIDE: '1' }];
for (const width of widths) {
  const env = isBlessing ? { ...width, VERITRAIN_BLESS: '1' } : width;
  run(['node_modules/vitest/vitest.mjs', 'run', 'contracts/test'], env, process.execPath);
}
