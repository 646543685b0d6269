/** What a role may do, sent or printed. */
import { roleCall, sendRoleCall, type RoleAction } from '#libs/settlement';
import type { SigningOptions } from '../commands/contracts-target.js';
import { printResult, table } from '../output.js';
import { signing, targetOf } from './chain.js';

export interface RoleOptions extends SigningOptions {
  readonly print?: boolean;
}

export async function act(action: RoleAction, options: RoleOptions): Promise<void> {
  if (options.print === true) {
    const call = roleCall(targetOf(options).deployment, action);
    printResult(options, call, () => table(Object.entries(call)));
    return;
  }
  await signing(options, async (signer, deployment, cap) => {
    const { txHash } = await sendRoleCall(signer, deployment, action, cap);
    printResult(options, { call: action.call, transaction: txHash }, () => table([[action.call, txHash]]));
  });
}
