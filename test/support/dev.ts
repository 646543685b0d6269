/** `npm run dev`: the embedded system from source; what loads a changed file is started again. */
import { join } from 'node:path';
import { startEmbedded, type AppName } from '../../apps/cli/src/system/embedded.js';
import { readCommandLine } from './command-line.js';
import { watchPrograms } from './watch-programs.js';

const { values, whole } = readCommandLine(
  `npm run dev -- [--port N]
  Runs the embedded system of \`npm run serve\` from source, on port 4100, and watches its sources. A process that loads a
  changed file is started again on the same ports and data. Types are left to \`npm run check\`. Ctrl-C ends it.`,
  { options: { port: { type: 'string', default: '4100' } } },
);
const say = (line: string): void => void process.stderr.write(`dev: ${line}\n`);
const stopped = new Promise<void>((end) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => end());
});

/** Each app with the main modules of the processes that it starts. */
const mains = {
  'control-plane': ['apps/control-plane/src/main.ts'],
  'key-broker': ['apps/key-broker/src/main.ts'],
  'host-agent': ['apps/host-agent/src/main.ts', 'enclave/src/main.ts'],
} satisfies Partial<Record<AppName, readonly string[]>>;
const folder = join(process.cwd(), '.veritrain');
const httpPort = whole('port', values.port, 0, 65_535);
const vendorFile = join(folder, 'simulated-vendor.json');
const system = await startEmbedded({ folder: join(folder, 'up'), vendorFile, httpPort, onPhase: say });
let isStopping = false;

async function restart(name: string, files: readonly string[]): Promise<void> {
  if (isStopping) return;
  say(`${name} starts again: ${files.join(', ') || 'an import'} changed`);
  await system.restart(name as AppName).then(
    () => say(`${name} runs`),
    (error: unknown) => say(`${name} did not start: ${String(error)}`),
  );
}

const programs = Object.entries(mains).map(([name, files]) => ({ name, mains: files }));
const watch = await watchPrograms(programs, process.cwd(), restart, (name, error) => say(`${name} stays: ${error}`));
for (const [name, url] of Object.entries(system.urls)) say(`${name} ${url}`);
say(`profile ${system.profileFile}`);
say('watching; Ctrl-C ends it');
await stopped;
isStopping = true;
await watch.stop();
await system.stop();
