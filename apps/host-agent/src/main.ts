/** The untrusted companion of an enclave: `VERITRAIN_HOST_SETTINGS=FILE node dist/apps/host-agent/src/main.js`. */
import { CodedError, ConfigurationError } from '#attestation/base';
import { startTracing } from '#libs/telemetry';
import { startAgent } from './agent.js';
import { loadSettings } from './settings.js';

async function start(): Promise<void> {
  const path = process.env.VERITRAIN_HOST_SETTINGS;
  if (path === undefined || path === '') {
    throw new ConfigurationError('HOST_SETTINGS', {
      expected: 'VERITRAIN_HOST_SETTINGS with the path of the settings',
      got: 'nothing',
      rule: 'host agent settings',
    });
  }
  const tracing = await startTracing('host-agent');
  const agent = await startAgent(loadSettings(path));
  process.stdout.write(`${JSON.stringify({ ready: true, nodeId: agent.nodeId })}\n`);
  // The first asks for an end after the lease in hand, the second for one at once: everything that matters is on disk.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      agent.stop();
      process.once(signal, () => process.exit(0));
    });
  }
  await agent.done;
  await tracing.stop();
}

start().catch((error: unknown) => {
  process.stderr.write(`${error instanceof CodedError ? JSON.stringify(error.toJSON()) : String(error)}\n`);
  process.exitCode = 1;
});
