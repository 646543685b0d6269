import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  artefactFile,
  artefactOf,
  compiledAlone,
  contractNames,
  testArtefactFile,
  testContractNames,
} from './artefacts.js';

const isAsked = process.env['CI'] !== undefined || process.env['VERITRAIN_LONG'] !== undefined;
if (!isAsked) console.warn('SKIPPED: a cold build of all contracts takes minutes; set VERITRAIN_LONG=1 to compare it');

describe.runIf(isAsked)('a cold build', () => {
  beforeAll(() => {
    const arch = process.arch === 'x64' ? 'amd64' : process.arch;
    const require = createRequire(import.meta.url);
    const forge = dirname(require.resolve(`@foundry-rs/forge-${process.platform}-${arch}/package.json`));
    const forTests = ['PlantedSplitVerifiers', 'WeakProofHead', 'WeakStepVerifier'];
    const paths = ['contracts/src', ...forTests.map((name) => `contracts/test/${name}.sol`)];
    const build = (...given: string[]) =>
      execFileSync(join(forge, 'bin', 'forge'), ['build', ...given], { stdio: 'pipe' });
    build(...paths);
    const apart = ['--out', 'contracts/out/alone', '--cache-path', 'contracts/cache/alone'];
    build(`contracts/src/verifiers/zk/${compiledAlone}.sol`, ...apart);
  }, 1_200_000);

  it.each(contractNames)('%s recompiles to the committed artefact', (name) => {
    expect(artefactOf(name) === readFileSync(artefactFile(name), 'utf8')).toBe(true);
  });

  it.each(testContractNames)('%s, of the tests, recompiles to the committed artefact', (name) => {
    expect(artefactOf(name) === readFileSync(testArtefactFile(name), 'utf8')).toBe(true);
  });

  it('keeps every contract below the size that a chain accepts', () => {
    for (const name of contractNames) {
      const { bytecode } = JSON.parse(readFileSync(artefactFile(name), 'utf8')) as { bytecode: string };
      expect(bytecode.length / 2 - 1).toBeLessThan(49_152);
    }
  });
});
