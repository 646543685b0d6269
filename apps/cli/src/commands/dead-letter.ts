/** `veritrain dead-letter list|replay`: messages that the control plane could not take. */
import type { Command } from 'commander';
import { addConnectionOptions, apiOf, type ConnectionOptions } from '../connection.js';
import { moreOf, printResult, table, wholeNumber, type PageOptions } from '../output.js';

interface DeadLetter {
  readonly id: string;
  readonly at: string;
  readonly source: string;
  readonly pattern: string;
  readonly actor: string | null;
  readonly code: string;
  readonly replayable: boolean;
  readonly replayCode: string | null;
}

export function addDeadLetterCommands(group: Command): void {
  addConnectionOptions(group.command('list').description('list them, newest first'))
    .option('--limit <n>', 'at most this many', wholeNumber, 50)
    .option('--cursor <cursor>', 'nextCursor of the page before')
    .action(async (options: ConnectionOptions & PageOptions) => {
      const { limit, cursor } = options;
      const query = new URLSearchParams({ limit: String(limit), ...(cursor && { cursor }) });
      const page = await apiOf(options).get<{ items: DeadLetter[]; nextCursor: string | null }>(
        `dead-letters?${query.toString()}`,
      );
      printResult(options, page, () =>
        page.items.length === 0 ? 'no dead letters' : table([...page.items.map(rowOf), ...moreOf(page)]),
      );
    });
  addConnectionOptions(group.command('replay').description('have one handled again, as from its sender'))
    .argument('<id>', 'its id, as in dead-letter list')
    .action(async (id: string, options: ConnectionOptions) => {
      const letter = await apiOf(options).post<DeadLetter>(`dead-letters/${encodeURIComponent(id)}/replay`, {});
      printResult(options, letter, () => table([rowOf(letter)]));
    });
}

function rowOf({ id, at, source, pattern, actor, code, replayable, replayCode }: DeadLetter): [string, string] {
  const fate = replayCode === null ? (replayable ? '' : 'cannot be replayed') : `replayed: ${replayCode}`;
  return [id, `${at}  ${code}  ${pattern || '(no pattern)'} over ${source} from ${actor ?? 'nobody known'}  ${fate}`];
}
