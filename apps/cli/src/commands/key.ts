/** `veritrain key create|list|revoke`: API keys of the control plane, for its administrators. */
import { Option, type Command } from 'commander';
import { Rejection } from '#attestation';
import { addConnectionOptions, openApi, type ConnectionOptions } from '../connection.js';
import { writeWhole } from '../files.js';
import { moreOf, printResult, table, wholeNumber, type PageOptions } from '../output.js';

interface KeyView {
  readonly id: string;
  readonly tenant: string;
  readonly role: string;
  readonly name: string;
  readonly provider: string | null;
  readonly createdAt: string;
  readonly revokedAt: string | null;
}

interface CreateOptions extends ConnectionOptions {
  readonly tenant: string;
  readonly role: string;
  readonly name?: string;
  readonly provider?: string;
  readonly out?: string;
}

const roles = ['client', 'operator', 'reviewer', 'admin'];

export function addKeyCommands(program: Command): void {
  const key = program.command('key').description('API keys of a control plane; for administrators');
  addConnectionOptions(key.command('create').description('make an API key; it is shown this once and stored nowhere'))
    .requiredOption('--tenant <name>', 'whose data sets, jobs or nodes it may see')
    .addOption(new Option('--role <role>', 'what it may do').choices(roles).makeOptionMandatory())
    .option('--name <text>', 'what lists and the audit log call it')
    .option('--provider <address>', 'account that the nodes are paid to; for operators, and for them alone')
    .option('--out <file>', 'write the key to this file, mode 600, and do not print it')
    .action(create);
  addConnectionOptions(key.command('list').description('list API keys, revoked ones too; never their secrets'))
    .option('--limit <n>', 'at most this many', wholeNumber, 50)
    .option('--cursor <cursor>', 'nextCursor of the page before')
    .action(list);
  addConnectionOptions(key.command('revoke').description('refuse an API key from the next request on, for good'))
    .argument('<id>', 'id of the key: what stands between the first two _')
    .action(async (id: string, options: ConnectionOptions) => {
      const view = await openApi(options).post<KeyView>(`keys/${encodeURIComponent(id)}/revoke`, {});
      printResult(options, view, () => textOf(view));
    });
}

/** @throws Rejection KEY_NOT_SHOWN when the first answer, which alone has the key, was lost on its way */
async function create(options: CreateOptions): Promise<void> {
  const { tenant, role, name, provider, out } = options;
  const wanted = { tenant, role, ...(name !== undefined && { name }), ...(provider && { provider }) };
  const { key, ...view } = await openApi(options).post<KeyView & { readonly key?: string }>('keys', wanted);
  if (key === undefined) {
    throw new Rejection('KEY_NOT_SHOWN', {
      expected: 'the new key in the answer',
      got: `an answer without it: key ${view.id} was made, and shown to a connection that broke`,
      rule: 'a key is shown once',
      action: `veritrain key revoke ${view.id}, and create another`,
    });
  }
  if (out === undefined) {
    printResult(options, { ...view, key }, () => `${textOf(view)}\n${table([['key', key]])}`);
    return;
  }
  writeWhole(out, `${key}\n`, 0o600);
  printResult(options, { ...view, out }, () => `${textOf(view)}\n${table([['written', out]])}`);
}

async function list(options: ConnectionOptions & PageOptions): Promise<void> {
  const { limit, cursor } = options;
  const query = new URLSearchParams({ limit: String(limit), ...(cursor && { cursor }) });
  const page = await openApi(options).get<{ items: KeyView[]; nextCursor: string | null }>(`keys?${query.toString()}`);
  printResult(options, page, () =>
    page.items.length === 0
      ? 'no keys'
      : table([
          ...page.items.map(({ id, tenant, role, name, revokedAt }) => {
            const state = revokedAt === null ? 'valid' : `revoked ${revokedAt}`;
            return [id, `${role.padEnd(8)} ${tenant}  ${state}  ${name}`] as const;
          }),
          ...moreOf(page),
        ]),
  );
}

function textOf(view: KeyView): string {
  return table([
    ['id', view.id],
    ['tenant', view.tenant],
    ['role', view.role],
    ...(view.name === '' ? [] : [['name', view.name] as const]),
    ...(view.provider === null ? [] : [['provider', view.provider] as const]),
    ['state', view.revokedAt === null ? 'valid' : `revoked ${view.revokedAt}`],
  ]);
}
