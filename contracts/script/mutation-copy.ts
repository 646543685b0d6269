/** A copy of the contracts and their tests in which each of many mutants can be switched on. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runnerSource, verdictsFile, type Suite } from './mutant-runner.js';
import { mutationLibrary, withSwitches, type PlacedMutant } from './mutants.js';

interface Round {
  /** Of its runner. */
  readonly contract: string;
  /** Suites NAME.t.sol:NAMETest; their tests without arguments, or those named. The first tells whether anything leaked. */
  readonly suites: readonly (readonly [name: string, tests?: readonly string[]])[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Takes a third of the time of all examples together. */
const slowTest = 'test_prefixes_of_more_than_one_word_of_segments';

/** Examples first; whom they miss, the slow one and the actors of the simulation meet. */
export const rounds: readonly Round[] = [
  {
    contract: 'ExamplesRound',
    suites: [
      ...[
        ['Terms'],
        ['Corners'],
        ['Delivery'],
        ['Disputes'],
        ['Guards'],
        ['Edges'],
        ['EarlyStop'],
        ['Vectors'],
        ['Verifiers'],
        ['Der'],
      ],
      ...[['Findings'], ['FindingsKeys'], ['FindingsParties']],
    ] as [string][],
    environment: {},
  },
  {
    contract: 'LongRound',
    suites: [['Terms'], ['Edges', [slowTest]], ['Snp'], ['Simulation', ['test_simulation']]],
    environment: { SIMULATION_ACTIONS: '250' },
  },
];

/** What no suite above needs. */
const unused =
  /src\/verifiers\/(zk|groth16)|\.ts$|(ZkJobs|Gas|AbiFuzz)\.t\.sol$|AbiPayload|SnpHarness|WeakStepVerifier|test\/groth16/;
/** A mutant that never ends is caught too; on a busy machine an honest one takes its time. */
const runMsMax = 900_000;
const batchSize = 25;

export const root = fileURLToPath(new URL('../../', import.meta.url));
const require = createRequire(import.meta.url);

/** What decides the outcomes: every source and test of the copy. */
export function copyDigest(): string {
  const hash = createHash('sha256');
  for (const folder of ['contracts/src', 'contracts/test']) {
    for (const name of readdirSync(join(root, folder), { recursive: true }).map(String).sort()) {
      const path = join(folder, name);
      if (name.endsWith('.sol') && !unused.test(path)) hash.update(name).update(readFileSync(join(root, path)));
    }
  }
  return hash.digest('hex');
}

function forgePath(): string {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  return join(dirname(require.resolve(`@foundry-rs/forge-${process.platform}-${arch}/package.json`)), 'bin/forge');
}

/** Writes and compiles the copy. Mutants are numbered from 1 in the order given; those of one file stand together. */
export function prepareCopy(work: string, mutants: readonly PlacedMutant[]): void {
  mkdirSync(join(work, 'contracts'), { recursive: true });
  for (const part of ['src', 'test', 'tools']) {
    cpSync(join(root, 'contracts', part), join(work, 'contracts', part), {
      recursive: true,
      filter: (path) => !unused.test(path),
    });
  }
  const settings = readFileSync(join(root, 'foundry.toml'), 'utf8');
  const limit = '[profile.default]\ncode_size_limit = 1000000';
  writeFileSync(join(work, 'foundry.toml'), settings.replace('[profile.default]', limit));
  if (!existsSync(join(work, 'node_modules'))) symlinkSync(join(root, 'node_modules'), join(work, 'node_modules'));
  writeFileSync(join(work, 'contracts/src/Mutation.sol'), mutationLibrary);
  for (const file of new Set(mutants.map((mutant) => mutant.file))) {
    const own = mutants.filter((mutant) => mutant.file === file);
    const switched = withSwitches(readFileSync(join(root, file)), own, mutants.indexOf(own[0]!) + 1);
    const up = '../'.repeat(file.split('/').length - 3) || './';
    const library = `import {Mutation} from "${up}Mutation.sol";`;
    writeFileSync(join(work, file), switched.replace(/^(pragma .*)$/m, `$1\n${library}`));
  }
  for (const test of ['Fixture.sol', 'Vectors.t.sol', 'Der.t.sol']) {
    const file = join(work, 'contracts/test', test);
    const switchOn = 'vm.coinbase(address(uint160(vm.envOr("MUTANT", uint256(0)))));';
    writeFileSync(file, readFileSync(file, 'utf8').replace(/(function setUp\(\) .*\{)$/m, `$1\n        ${switchOn}`));
  }
  const { status } = spawnSync(forgePath(), ['build'], { cwd: work, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error(`the copy in ${work} does not compile`);
  for (const round of rounds)
    writeFileSync(runnerFile(work, round), runnerSource(round.contract, suitesOf(work, round)));
}

const runnerFile = (work: string, { contract }: Round): string => join(work, 'contracts/test', `${contract}.t.sol`);

function suitesOf(work: string, { suites }: Round): Suite[] {
  return suites.map(([name, named]) => {
    const file = join(work, `contracts/out/${name}.t.sol/${name}Test.json`);
    const { methodIdentifiers } = JSON.parse(readFileSync(file, 'utf8')) as { methodIdentifiers: object };
    const all = Object.keys(methodIdentifiers)
      .filter((signature) => /^test\w*\(\)$/.test(signature))
      .map((signature) => signature.slice(0, -2));
    return { artefact: `${name}.t.sol:${name}Test`, tests: named ?? all.filter((test) => test !== slowTest) };
  });
}

/**
 * Tries mutants one after the other; 0 is none.
 * @param tell  hears of each whether all tests of the round passed
 */
export async function judge(
  work: string,
  round: Round,
  mutants: readonly number[],
  tell: (mutant: number, passed: boolean) => void,
): Promise<void> {
  const verdicts = join(work, verdictsFile);
  mkdirSync(dirname(verdicts), { recursive: true });
  for (let left = mutants; left.length > 0;) {
    const batch = left.slice(0, batchSize);
    rmSync(verdicts, { force: true });
    const passed = await test(work, `^${round.contract}$`, { ...round.environment, MUTANTS: batch.join() });
    const lines = existsSync(verdicts) ? readFileSync(verdicts, 'utf8').trim().split('\n') : [];
    for (const line of lines) {
      const [mutant, failed] = line.split(' ').map(Number);
      tell(mutant!, failed === 0);
    }
    left = left.slice(lines.length);
    if (passed || left.length === 0) continue;
    // It left something behind, or never ended.
    const [alone] = left;
    const names = round.suites.map(([name]) => `${name}Test`).join('|');
    tell(alone!, await test(work, `^(${names})$`, { ...round.environment, MUTANT: String(alone!) }));
    left = left.slice(1);
  }
}

async function test(work: string, contracts: string, environment: Readonly<Record<string, string>>): Promise<boolean> {
  const args = ['test', '--match-contract', contracts, '--fail-fast', '--threads', '1'];
  const env = { ...process.env, FOUNDRY_FUZZ_RUNS: '16', FOUNDRY_GAS_LIMIT: '9000000000000000000', ...environment };
  const child = spawn(forgePath(), args, { cwd: work, stdio: 'ignore', env, timeout: runMsMax, killSignal: 'SIGKILL' });
  const [status] = (await once(child, 'close')) as [number | null];
  return status === 0;
}
