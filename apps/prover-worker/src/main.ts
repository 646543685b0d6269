/** A node without a TEE: `VERITRAIN_PROVER_SETTINGS=FILE node dist/apps/prover-worker/src/main.js`. */
import { CodedError, ConfigurationError } from '#attestation/base';
import { startTracing } from '#libs/telemetry';
import { startNode } from './node/node.js';
import { loadSettings } from './node/settings.js';

async function start(): Promise<void> {
  const path = process.env.VERITRAIN_PROVER_SETTINGS;
  if (path === undefined || path === '') {
    throw new ConfigurationError('PROVER_SETTINGS', {
      expected: 'VERITRAIN_PROVER_SETTINGS with the path of the settings',
      got: 'nothing',
      rule: 'prover worker, settings',
    });
  }
  const tracing = await startTracing('prover-worker');
  const node = await startNode(loadSettings(path));
  process.stdout.write(`${JSON.stringify({ ready: true, nodeId: node.nodeId })}\n`);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      node.stop();
      process.once(signal, () => process.exit(0));
    });
  }
  await node.done;
  await tracing.stop();
}

start().catch((error: unknown) => {
  process.stderr.write(`${error instanceof CodedError ? JSON.stringify(error.toJSON()) : String(error)}\n`);
  process.exitCode = 1;
});
