/** `veritrain dataset list|delete`: data sets that a control plane has. */
import type { Command } from 'commander';
import { addConnectionOptions, apiOf, type ConnectionOptions } from '../connection.js';
import { moreOf, printResult, table, wholeNumber, type PageOptions } from '../output.js';

interface Listed {
  readonly id: string;
  readonly records: number;
  readonly shards: number;
  readonly uploaded: number;
  readonly bytes: number;
  readonly createdAt: string;
}

export function addRegisteredCommands(dataset: Command): void {
  addConnectionOptions(dataset.command('list').description('list the data sets that the control plane has'))
    .option('--limit <n>', 'at most this many', wholeNumber, 50)
    .option('--cursor <cursor>', 'nextCursor of the page before')
    .action(async (options: ConnectionOptions & PageOptions) => {
      const { limit, cursor } = options;
      const query = new URLSearchParams({ limit: String(limit), ...(cursor && { cursor }) });
      const page = await apiOf(options).get<{ items: Listed[]; nextCursor: string | null }>(
        `datasets?${query.toString()}`,
      );
      printResult(options, page, () =>
        page.items.length === 0 ? 'no data sets' : table([...page.items.map(rowOf), ...moreOf(page)]),
      );
    });
  addConnectionOptions(
    dataset.command('delete').description('take one from the control plane, unless a job that has not ended needs it'),
  )
    .argument('<id>', 'its id, as in dataset list')
    .action(async (id: string, options: ConnectionOptions) => {
      await apiOf(options).remove(`datasets/${encodeURIComponent(id)}`);
      printResult(options, { id, deleted: true }, () => table([['deleted', id]]));
    });
}

function rowOf({ id, records, shards, uploaded, bytes, createdAt }: Listed): [string, string] {
  return [id, `${records} records  ${uploaded} of ${shards} shards  ${bytes} bytes  ${createdAt}`];
}
