/** `veritrain key create|list|revoke`: API keys of the control plane, for its administrators. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { ConfigurationError, Rejection } from '#attestation/base';
import { writeWhole } from '#libs/client/files';
import { roles, type KeyView } from '#libs/wire';
import { addConnectionOptions, apiOf, type ConnectionOptions } from '../connection.js';
import { moreOf, printResult, table, wholeNumber, type PageOptions } from '../output.js';

interface CreateOptions extends ConnectionOptions {
  readonly tenant?: string;
  readonly role: string;
  readonly name?: string;
  readonly provider?: string;
  readonly expires?: string;
  readonly scopes?: readonly string[];
  readonly out?: string;
}

export function addKeyCommands(key: Command): void {
  addConnectionOptions(key.command('create').description('make an API key; it is shown this once and stored nowhere'))
    .option('--tenant <name>', 'whose data sets, jobs or nodes it may see; an administrator without one sees all')
    .addOption(new Option('--role <role>', 'what it may do').choices(roles).makeOptionMandatory())
    .option('--name <text>', 'what lists and the audit log call it')
    .option('--provider <address>', 'account that the nodes are paid to; for operators, and for them alone')
    .option('--expires <time>', 'refuse it from then on: 30d, 12h, or a time like 2027-01-31T00:00:00Z', expiry)
    .option('--scopes <list>', 'read, write, keys, with commas; absent: all that its role may', listed)
    .option('--out <file>', 'write the key to this file, mode 600, and do not print it')
    .action(create);
  addConnectionOptions(key.command('list').description('list API keys, revoked ones too; never their secrets'))
    .option('--limit <n>', 'at most this many', wholeNumber, 50)
    .option('--cursor <cursor>', 'nextCursor of the page before')
    .action(list);
  addConnectionOptions(key.command('revoke').description('refuse an API key from the next request on, for good'))
    .argument('<id>', 'id of the key: what stands between the first two _')
    .action(async (id: string, options: ConnectionOptions) => {
      const view = await apiOf(options).post<KeyView>(`keys/${encodeURIComponent(id)}/revoke`, {});
      printResult(options, view, () => textOf(view));
    });
}

/**
 * @throws ConfigurationError KEY_PROVIDER; Rejection KEY_NOT_SHOWN when the first answer, which alone has the key, was lost on its way
 */
async function create(options: CreateOptions): Promise<void> {
  const { tenant, role, name, provider, expires, scopes, out } = options;
  checkProvider(role, provider);
  const wanted = {
    ...{ role, ...(tenant !== undefined && { tenant }), ...(name !== undefined && { name }) },
    ...{ ...(provider && { provider }), ...(expires && { expiresAt: expires }), ...(scopes && { scopes }) },
  };
  const { key, ...view } = await apiOf(options).post<KeyView & { readonly key?: string }>('keys', wanted);
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

function checkProvider(role: string, provider: string | undefined): void {
  if ((role === 'operator') === (provider !== undefined)) return;
  const wanted = role === 'operator';
  throw new ConfigurationError('KEY_PROVIDER', {
    expected: wanted ? '--provider ADDRESS with --role operator' : 'no --provider: operators alone are paid',
    got: wanted ? 'no --provider' : `--role ${role} with --provider`,
    rule: 'veritrain key create',
    action: wanted ? 'name the account that the nodes are paid to: --provider 0x…' : 'leave --provider out',
  });
}

async function list(options: ConnectionOptions & PageOptions): Promise<void> {
  const { limit, cursor } = options;
  const query = new URLSearchParams({ limit: String(limit), ...(cursor && { cursor }) });
  const page = await apiOf(options).get<{ items: KeyView[]; nextCursor: string | null }>(`keys?${query.toString()}`);
  printResult(options, page, () =>
    page.items.length === 0
      ? 'no keys'
      : table([
          ...page.items.map((view) => {
            const used = view.lastUsedAt === null ? 'never used' : `used ${view.lastUsedAt}`;
            const whose = view.tenant ?? '(every tenant)';
            return [
              view.id,
              `${view.role.padEnd(8)} ${whose}  ${stateOf(view)}  ${used}  ${scopesOf(view)}${view.name}`,
            ] as const;
          }),
          ...moreOf(page),
        ]),
  );
}

function scopesOf({ scopes }: KeyView): string {
  return scopes === null ? '' : `may ${scopes.join(', ')}  `;
}

function listed(text: string): readonly string[] {
  return text.split(',').map((one) => one.trim());
}

function stateOf({ revokedAt, expiresAt }: KeyView): string {
  if (revokedAt !== null) return `revoked ${revokedAt}`;
  if (expiresAt === null) return 'valid';
  return `${new Date(expiresAt) > new Date() ? 'valid until' : 'expired'} ${expiresAt}`;
}

/** @throws InvalidArgumentError */
function expiry(text: string): string {
  const [, count, unit] = /^([1-9][0-9]{0,4})([dh])$/.exec(text) ?? [];
  const at =
    count === undefined ? Date.parse(text) : Date.now() + Number(count) * (unit === 'd' ? 86_400_000 : 3_600_000);
  if (Number.isNaN(at) || (count === undefined && !/^\d{4}-\d\d-\d\d/.test(text))) {
    throw new InvalidArgumentError('so many days (30d) or hours (12h), or a date');
  }
  return new Date(at).toISOString();
}

function textOf(view: KeyView): string {
  return table([
    ['id', view.id],
    ['tenant', view.tenant ?? '(every tenant)'],
    ['role', view.role],
    ...(view.name === '' ? [] : [['name', view.name] as const]),
    ...(view.provider === null ? [] : [['provider', view.provider] as const]),
    ['state', stateOf(view)],
    ...(view.lastUsedAt === null ? [] : [['last used', view.lastUsedAt] as const]),
  ]);
}
