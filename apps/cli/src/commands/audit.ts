/** `veritrain audit verify`: whether the control plane's audit log is what it was. */
import type { Command } from 'commander';
import { addConnectionOptions, apiOf, type ConnectionOptions } from '../connection.js';
import { printResult, table } from '../output.js';

interface AuditFound {
  readonly rows: number;
  readonly rowsBefore: number;
  readonly head: string | null;
}

export function addAuditCommands(audit: Command): void {
  addConnectionOptions(
    audit.command('verify').description('recompute the chain of the log; a changed or missing row is AUDIT_BROKEN'),
  ).action(async (options: ConnectionOptions) => {
    const found = await apiOf(options).get<AuditFound>('audit/verified');
    printResult(options, found, () =>
      table([
        ['rows', String(found.rows)],
        ['older rows', String(found.rowsBefore)],
        ['head', found.head ?? '–'],
      ]),
    );
  });
}
