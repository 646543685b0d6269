/** Runs the control plane; prints one line of JSON on standard output when it is ready. */
import { CodedError } from '#attestation/base';
import { createLogger, startTracing } from '#libs/telemetry';
import { readConfig } from './core/config/config.js';
import { startControlPlane } from './server.js';

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

main().catch((error: unknown) => {
  const shown =
    error instanceof CodedError ? JSON.stringify(error) : error instanceof Error ? error.stack : String(error);
  process.stderr.write(`${shown}\n`);
  process.exit(1);
});
