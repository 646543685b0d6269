/** A job as people read it. */
import { claim, type JobView } from '#libs/client/api';
import { printResult, table, type OutputOptions } from '../output.js';

export function printJob(view: JobView, options: OutputOptions): void {
  printResult(options, view, () =>
    table([
      ['job', view.id],
      ['state', `${view.state}${view.code === null ? '' : ` (${claim(view.saidBy)}${view.code})`}`],
      ...(view.reason === null || view.state === 'settled'
        ? []
        : [['reason', `${claim(view.saidBy)}${JSON.stringify(view.reason)}`] as const]),
      ...(typeof view.unplaced === 'string' ? [['nobody takes it', view.unplaced] as const] : []),
      ['progress', progressOf(view)],
      ['escrow', `${view.escrowState} ${view.escrowId}`],
      ['settled by', view.settlementTransaction ?? '–'],
      ['attempt', String(view.attempt)],
    ]),
  );
}

export function progressOf({ progress, steps }: JobView): string {
  return progress === null ? `0 of ${steps} steps` : `${progress.step} of ${progress.of} steps`;
}
