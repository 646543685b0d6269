/**
 * Works one job without a TEE: `work-main ORDER FOLDER`. ORDER is a JSON file (job/order.ts); seals, statements and what
 * is needed to go on lie in FOLDER. One JSON object per line on stdout: progress, every proved segment, the end, or
 * {"event": "failed", "code", …} with exit status 1. A signal ends it at once; the next run goes on at the last proved
 * segment.
 */
import { CodedError, ConfigurationError } from '#attestation';
import { readOrder } from './job/order.js';
import { work } from './job/work.js';
import { loadExamples } from './proving/files.js';

const tell = (event: object): void => void process.stdout.write(`${JSON.stringify(event)}\n`);

try {
  const [orderFile, folder] = process.argv.slice(2);
  if (orderFile === undefined || folder === undefined) {
    throw new ConfigurationError('PROVER_ORDER', {
      expected: 'two arguments: order file and folder',
      got: `${process.argv.length - 2}`,
      rule: 'prover worker, orders',
    });
  }
  const order = readOrder(orderFile);
  await work(order, folder, () => loadExamples(order.manifest, order), tell);
} catch (error) {
  if (!(error instanceof CodedError)) throw error;
  tell({ event: 'failed', ...error.toJSON() });
  process.exitCode = 1;
}
