/** `veritrain contracts roles`: what governor, guardian and revoker may do, sent or printed for a timelock. */
import { Argument, type Command } from 'commander';
import { roleNames, type RoleName } from '#libs/settlement/deployment';
import type { RoleOptions } from '../contracts/role.js';
import { later } from '../later.js';
import { address } from './ids.js';
import { digest, selector, withSigner } from './contracts-target.js';

const act = later(async () => (await import('../contracts/role.js')).act);

export function addRoleCommands(contracts: Command): void {
  const roles = contracts.command('roles').description('rotate roles, list tokens and verifiers, stop what is broken');
  const action = (name: string, description: string, ...given: Argument[]): Command => {
    const command = withSigner(roles.command(name).description(description)).option(
      '--print',
      'print the call for a timelock or a multi-signature account and send nothing',
    );
    for (const one of given) command.addArgument(one);
    return command;
  };
  const role = new Argument('<role>').choices(roleNames);
  const account = (name: string): Argument => new Argument(`<${name}>`).argParser(address);
  const named = new Argument('<selector>').argParser(selector);
  action('propose', 'first step of passing on a role; the zero address takes it back', role, account('account')).action(
    (name: RoleName, to: string, options: RoleOptions) => act({ call: 'propose', role: name, to }, options),
  );
  action('take', 'second step, 48 hours later, by whoever was proposed', role).action(
    (name: RoleName, options: RoleOptions) => act({ call: 'take', role: name }, options),
  );
  for (const [call, description] of [
    ['allow', 'let new jobs be paid in this token'],
    ['disallow', 'refuse this token for new jobs'],
  ] as const) {
    action(call, description, account('token')).action((token: string, options: RoleOptions) =>
      act({ call, token }, options),
    );
  }
  for (const [call, description] of [
    ['pause', 'refuse new jobs'],
    ['unpause', 'take new jobs again'],
  ] as const) {
    action(call, description).action((options: RoleOptions) => act({ call }, options));
  }
  action('add', 'route a selector to a verifier, for good', named, account('verifier')).action(
    (name: string, verifier: string, options: RoleOptions) => act({ call: 'add', selector: name, verifier }, options),
  );
  action('tombstone', 'retire a selector for good', named).action((name: string, options: RoleOptions) =>
    act({ call: 'tombstone', selector: name }, options),
  );
  action(
    'condemn',
    'condemn a chip, serial, issuer or product of SEV-SNP for good',
    new Argument('<what>').argParser(digest),
  )
    .requiredOption('--reason <digest>', 'of the advisory that says why', digest)
    .action((what: string, options: RoleOptions & { readonly reason: string }) =>
      act({ call: 'condemn', what, reason: options.reason }, options),
    );
}
