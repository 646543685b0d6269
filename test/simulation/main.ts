/** `npm run simulate`: the control plane and all around it in one process. */
import { readCommandLine } from '#test/command-line';
import { engines } from './store.js';
import { merged, runWorlds } from './worlds.js';

const usage = `npm run simulate -- [--seed N] [--jobs N] [--nodes N] [--replicas N] [--engine memory|pglite] [--json]
  One seeded simulation of control plane, nodes, chain and wire (seed 1, 1000 jobs, 40 nodes, 2 replicas, memory).
  Prints the seed whatever happens. Exit status 1 when an invariant does not hold.`;
const { values, whole, refuse } = readCommandLine(usage, {
  options: {
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '1000' },
    nodes: { type: 'string', default: '40' },
    replicas: { type: 'string', default: '2' },
    engine: { type: 'string', default: 'memory' },
    json: { type: 'boolean', default: false },
  },
});

const shownViolations = 20;

function textOf(report: ReturnType<typeof merged>): string {
  const line = (title: string, counts: Readonly<Record<string, number>>) =>
    `${title}\n${Object.entries(counts)
      .map(([name, count]) => `  ${name}: ${count}`)
      .join('\n')}`;
  const { seed, jobs, nodes, replicas, worlds, violations } = report;
  return [
    `seed ${seed}: ${jobs} jobs in ${worlds.length} worlds of ${nodes} simulated nodes and ${replicas} replicas, ${report.engine} database`,
    `${report.events} events in ${report.virtualSeconds} virtual seconds`,
    line('jobs by end state', report.byState),
    line('faults injected', report.faults),
    line('invariants checked', report.checks),
    `violations: ${violations.length}`,
    ...violations
      .slice(0, shownViolations)
      .map((v) => `  seed ${v.seed}: ${v.invariant}: ${v.jobId ?? ''} ${v.detail}`),
  ].join('\n');
}

const engine =
  engines.find((name) => name === values.engine) ??
  refuse(`--engine: expected ${engines.join(' or ')}; got ${values.engine}`);
const options = {
  seed: whole('seed', values.seed, 0, Number.MAX_SAFE_INTEGER),
  jobs: whole('jobs', values.jobs, 1),
  nodes: whole('nodes', values.nodes, 1),
  replicas: whole('replicas', values.replicas, 1),
  engine,
};
const began = process.cpuUsage();
const beganAt = performance.now();
try {
  const report = merged(options, await runWorlds(options));
  const { user, system } = process.cpuUsage(began);
  const cost = { cpuSeconds: (user + system) / 1e6, seconds: (performance.now() - beganAt) / 1000 };
  process.stdout.write(values.json ? `${JSON.stringify({ ...report, ...cost })}\n` : `${textOf(report)}\n`);
  process.exitCode = report.violations.length === 0 ? 0 : 1;
} catch (error) {
  process.stderr.write(`seed ${options.seed}: ${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
}
