/** Runs the control plane; prints one line of JSON on standard output when it is ready. */
import { runService } from '#libs/process';
import { createLogger, startTracing } from '#libs/telemetry';
import { readConfig } from './core/config/config.js';
import { startControlPlane } from './server.js';

const help = 'Jobs, nodes, evidence and the console, behind REST and GraphQL.';

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const logger = createLogger('control-plane', config.logLevel);
  const tracing = await startTracing('control-plane');
  const controlPlane = await startControlPlane(config, logger);
  let stopping = false;
  const stop = (): void => {
    if (stopping) return;
    stopping = true;
    logger.info('stopping');
    Promise.all([controlPlane.close(), tracing.stop()]).then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error('did not stop cleanly', { error });
        process.exit(1);
      },
    );
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  const { httpPort: http, dispatchPort: dispatch } = controlPlane;
  process.stdout.write(`${JSON.stringify({ ready: true, http, dispatch })}\n`);
}

runService({ name: 'control-plane', help }, main);
