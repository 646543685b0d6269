#!/usr/bin/env node
// The scripts of package.json. On a fresh clone with nothing but Node and npm it installs, builds and runs; what is
// unchanged is neither installed nor built again.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { isatty } from 'node:tty';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const sources = ['apps', 'attestation', 'contracts', 'enclave', 'libs', 'migrations', 'test'];
const skipped = new Set(['node_modules', 'dist', 'out', 'cache', 'assembly']);
const isWideTest = /\.wide\.test\.ts$/;
const built = /\.(ts|tsx|json|wasm|html|css)$/;

const commands = {
  demo: (args) => cli(['demo', ...args]),
  up: (args) => cli(['up', ...args]),
  dev: (args) => node(['--conditions=source', '--import', '@oxc-node/core/register', 'test/support/dev.ts', ...args]),
  build: () => 0,
  test: async (args) => (await checkTypes()) || runTests(args),
  contracts: (args) => node(['contracts/script/check.mjs', ...args]),
  fuzz: (args) => node(['dist/test/property/main.js', ...args]),
  faults: (args) => node(['dist/test/faults/main.js', ...args]),
  bench: (args) => node(['dist/test/bench/main.js', ...args]),
  check: (args) => node(['dist/test/support/check.js', ...args]),
  simulate: (args) => node(['dist/test/simulation/main.js', ...args]),
  bless: (args) => node(['dist/test/support/bless.js', ...args]),
};

let running = null;
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    // Ctrl-C of a terminal reaches every process of it at once, and a second one would force what stops in order.
    if (signal === 'SIGINT' && [0, 1, 2].some((descriptor) => isatty(descriptor))) return;
    running?.kill(signal);
  });
}

/** Ends with what it started, by its status: signals are passed on, and waited out. */
async function run(file, args, stdio) {
  running = spawn(file, args, { cwd: root, stdio });
  const [status, signal] = await once(running, 'exit').catch((error) => {
    process.stderr.write(`veritrain: ${file} does not start: ${error.message}\n`);
    return [1];
  });
  return status ?? 128 + constants.signals[signal];
}

function node(args) {
  return run(process.execPath, args, 'inherit');
}

function tool(path, args) {
  return node([join('node_modules', path), ...args]);
}

function cli(args) {
  return node(['dist/apps/cli/src/main.js', ...args]);
}

/**
 * The build leaves test files out; a type error in one of them fails the tests, not the program. The linter's compiler
 * checks them three times as fast as tsc, which `npm run check` runs.
 */
function checkTypes() {
  return tool('oxlint/bin/oxlint', ['--type-aware', '--type-check']);
}

/** Without `--wide` all tests but those of whole systems, which take minutes each; with it those alone. */
function runTests(args) {
  // What is built is what is tested (libs/process/src/node-command.ts).
  process.env.VERITRAIN_BUILT = '1';
  const isWide = args.includes('--wide');
  if (isWide) process.env.VERITRAIN_WIDE = '1';
  else {
    const wide = sources
      .flatMap((folder) => [...filesBelow(join(root, folder))])
      .filter((path) => isWideTest.test(path));
    process.stderr.write(`veritrain: SKIPPED: ${wide.length} files of wide tests; npm test -- --wide runs them\n`);
  }
  return tool('vitest/vitest.mjs', ['run', ...args.filter((arg) => arg !== '--wide')]);
}

/** Runs a preparation step with its output on stderr: stdout belongs to the command. */
async function prepare(name, file, args) {
  process.stderr.write(`veritrain: ${name} …\n`);
  const began = Date.now();
  const status = await run(file, args, ['ignore', 2, 2]);
  if (status !== 0) {
    process.stderr.write(`veritrain: ${name} failed; the lines above say why.\n`);
    process.exit(status);
  }
  process.stderr.write(`veritrain: ${name} took ${((Date.now() - began) / 1000).toFixed(1)} s\n`);
}

function stale(stamp, digest) {
  return !existsSync(stamp) || readFileSync(stamp, 'utf8') !== digest;
}

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if ((major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22) return;
  process.stderr.write(`veritrain: needs Node 20.19 or later, or 22.12 or later; this is ${process.versions.node}.\n`);
  process.exit(1);
}

async function install() {
  const lock = readFileSync(join(root, 'package-lock.json'));
  const digest = createHash('sha256').update(lock).digest('hex');
  const stamp = join(root, 'node_modules', '.veritrain-lock');
  if (!stale(stamp, digest)) return;
  if (lstatSync(dirname(stamp), { throwIfNoEntry: false })?.isSymbolicLink()) {
    process.stderr.write(
      'veritrain: node_modules is a symbolic link, and installing would empty the folder that it names: remove the link.\n',
    );
    process.exit(1);
  }
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  await prepare('installing the locked packages', npm, [
    'ci',
    '--include=dev',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ]);
  writeFileSync(stamp, digest);
}

function* filesBelow(folder) {
  for (const name of readdirSync(folder).sort()) {
    if (skipped.has(name)) continue;
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* filesBelow(path);
    else if (built.test(name)) yield path;
  }
}

async function build() {
  const hash = createHash('sha256');
  const files = sources.flatMap((folder) => [...filesBelow(join(root, folder))]);
  for (const path of [
    ...files,
    join(root, 'tsconfig.json'),
    join(root, 'tsconfig.build.json'),
    join(root, 'package-lock.json'),
  ]) {
    hash.update(relative(root, path)).update('\0').update(readFileSync(path)).update('\0');
  }
  const digest = hash.digest('hex');
  const stamp = join(root, 'dist', '.veritrain-build');
  if (!stale(stamp, digest)) return;
  await prepare('building', process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json']);
  await prepare('building the reviewer’s page', process.execPath, [
    ...['node_modules/vite/bin/vite.js', 'build', '--config', 'apps/console/vite.config.ts'],
  ]);
  await prepare('building the console', process.execPath, [
    ...['node_modules/vite/bin/vite.js', 'build', '--config', 'apps/console/vite.console.config.ts'],
  ]);
  await prepare('preparing the embedded database', process.execPath, ['dist/libs/persistence/src/build-template.js']);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, digest);
}

const [name, ...args] = process.argv.slice(2);
if (!Object.hasOwn(commands, name ?? '')) {
  process.stderr.write(`usage: run.mjs ${Object.keys(commands).join('|')} [arguments]\n`);
  process.exit(2);
}
requireNode();
await install();
await build();
process.exitCode = await commands[name](args);
