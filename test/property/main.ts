/** `npm run fuzz`: mutants for everything that reads what a stranger may send. */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readCommandLine } from '#test/command-line';
import { hasGroth16Tools } from '#test/groth16-tools';
import { targets, type TargetName } from './targets.js';

const names = Object.keys(targets) as TargetName[];
/** Optional packages may be missing. */
const runnable = names.filter((name) => name !== 'groth16' || hasGroth16Tools);
const usage = `npm run fuzz -- [--target ${names.join('|')}] [--count N | --short] [--seed N] [--json]
  Hands N mutants of genuine inputs to whatever verifies or reads them; without a target to all of them, one after the
  other, each in a process of its own. The same seed makes the same changes on every machine; without one a fresh seed
  is drawn and printed. Where keys are drawn anew in every run (bundle, grant, checkpoint, groth16, dispatch, rest)
  what is changed differs, and a failure prints it.
  Mutants without --count, a hundredth or more of them with --short; 100,000 of each can be had:
${names.map((name) => `    ${name.padEnd(12)}${targets[name].count.toLocaleString('en').padStart(8)}  ${targets[name].why}`).join('\n')}
  refused: with a coded error. taken: says the same, or what nothing binds, or what its sender may say.
  Exit status 0 only when none was accepted, none made a verifier crash, and memory stayed within 1 GiB of its start.`;
const { values, whole, refuse } = readCommandLine(usage, {
  options: {
    target: { type: 'string' },
    count: { type: 'string' },
    seed: { type: 'string' },
    short: { type: 'boolean' },
    json: { type: 'boolean' },
  },
});
const seed = values.seed === undefined ? randomInt(1, 1_000_000_000) : whole('seed', values.seed);
const asked = values.count === undefined ? undefined : whole('count', values.count, 1);

function isTarget(name: string): name is TargetName {
  return Object.hasOwn(targets, name);
}

/** Whatever one target does to its process, the next begins anew. */
function runAll(): number {
  const failed = runnable.filter((target) => {
    const flags = (['json', 'short'] as const).filter((name) => values[name] === true).map((name) => `--${name}`);
    const own = [
      '--target',
      target,
      '--seed',
      String(seed),
      ...flags,
      ...(values.count ? ['--count', values.count] : []),
    ];
    const argv = [...process.execArgv, process.argv[1]!, ...own];
    return spawnSync(process.execPath, argv, { stdio: 'inherit' }).status !== 0;
  });
  for (const name of names)
    if (!runnable.includes(name)) process.stderr.write(`fuzz ${name}: skipped, its tools are not installed\n`);
  process.stderr.write(failed.length === 0 ? 'fuzz: all targets held\n' : `fuzz: failed: ${failed.join(', ')}\n`);
  return failed.length === 0 ? 0 : 1;
}

function progressOf(name: string, count: number) {
  const everyMilliseconds = 10_000;
  let told = Date.now();
  return ({ done, failed, residentBytes }: { done: number; failed: number; residentBytes: number }): void => {
    if (Date.now() - told < everyMilliseconds) return;
    told = Date.now();
    const mebibytes = Math.round(residentBytes / 2 ** 20);
    process.stderr.write(`fuzz ${name}: ${done} of ${count}, ${failed} failed, ${mebibytes} MiB\n`);
  };
}

async function runOne(name: TargetName): Promise<number> {
  const count = asked ?? targets[name][values.short === true ? 'short' : 'count'];
  process.stderr.write(`fuzz ${name}: ${count} mutants of seed ${seed} …\n`);
  const began = Date.now();
  const fuzz = await targets[name].load();
  const { failures, ...report } = await fuzz(count, seed, progressOf(name, count));
  const summary = { target: name, ...report, seconds: Math.round((Date.now() - began) / 1000) };
  const text = Object.entries(summary).map(([key, value]) => `${key} ${value}`);
  const told = failures.map(({ target, what, input }) => `${target}: ${what}\n  ${input}\n`);
  process.stdout.write(
    values.json === true ? `${JSON.stringify({ ...summary, failures })}\n` : `${text.join(', ')}\n${told.join('')}`,
  );
  return report.accepted + report.crashes === 0 ? 0 : 1;
}

if (values.target === undefined) process.exitCode = runAll();
else if (isTarget(values.target)) process.exitCode = await runOne(values.target);
else refuse(`--target: expected ${names.join(' or ')}; got ${values.target}`);
