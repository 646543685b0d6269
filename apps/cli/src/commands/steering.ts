/** `veritrain job watch|status|list|cancel|pause|resume|retry`: what needs the control plane alone. */
import type { Command } from 'commander';
import { followJob, type JobView } from '#libs/client/api';
import { addConnectionOptions, apiOf, type ConnectionOptions } from '../connection.js';
import { eventLine } from '../job/event-line.js';
import { following } from '../job/interrupted.js';
import { printJob, progressOf } from '../job/print-job.js';
import { log, moreOf, printResult, table, wholeNumber, type PageOptions } from '../output.js';
import { jobId } from './ids.js';

const steering = {
  cancel: 'cancel a job whose escrow has not started',
  pause: 'take a job whose escrow has not started from its node, and give it to nobody until it is resumed',
  resume: 'put a paused job back into the queue',
  retry: 'put a job that failed or was refused back into the queue, while its escrow can still pay for it',
};

export function addSteeringCommands(job: Command): void {
  const command = (name: string, description: string): Command =>
    addConnectionOptions(job.command(name).description(description));
  const withJob = (name: string, description: string): Command =>
    command(name, description).argument('<id>', 'job id', jobId);
  withJob('watch', 'show a job until it ends').action(async (id: string, options: ConnectionOptions) => {
    const api = apiOf(options);
    const view = await following('the same command shows it again', () =>
      followJob(id, api, (event) => log(eventLine(event))),
    );
    printJob(view, options);
    if (view.state !== 'settled') process.exitCode = 1;
  });
  withJob('status', 'show a job once').action(async (id: string, options: ConnectionOptions) => {
    printJob(await apiOf(options).get<JobView>(`jobs/${encodeURIComponent(id)}`), options);
  });
  for (const [name, description] of Object.entries(steering)) {
    withJob(name, description).action(async (id: string, options: ConnectionOptions) => {
      printJob(await apiOf(options).post<JobView>(`jobs/${encodeURIComponent(id)}/${name}`, {}), options);
    });
  }
  command('list', 'list jobs, newest first')
    .option('--state <state>', 'only jobs in this state')
    .option('--limit <n>', 'at most this many', wholeNumber, 20)
    .option('--cursor <cursor>', 'nextCursor of the page before')
    .action(list);
}

async function list(options: ConnectionOptions & PageOptions & { readonly state?: string }): Promise<void> {
  const { limit, state, cursor } = options;
  const query = new URLSearchParams({ limit: String(limit), ...(state && { state }), ...(cursor && { cursor }) });
  const page = await apiOf(options).get<{ items: JobView[]; nextCursor: string | null }>(`jobs?${query.toString()}`);
  printResult(options, page, () =>
    page.items.length === 0
      ? 'no jobs'
      : table([
          ...page.items.map((job) => [job.id, `${job.state.padEnd(10)} ${progressOf(job)}  ${job.createdAt}`] as const),
          ...moreOf(page),
        ]),
  );
}
