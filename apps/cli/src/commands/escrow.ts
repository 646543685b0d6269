/** `veritrain job exit|missing|withdraw`: the client's money. */
import type { Command } from 'commander';
import { formatEther } from 'ethers';
import { openChain, type ClientChain } from '../job/chain.js';
import { exitEscrow } from '../job/exit.js';
import { ownTerms } from '../job/record.js';
import { printResult, table, type OutputOptions } from '../output.js';
import { loadProfile } from '../profile.js';

interface EscrowOptions extends OutputOptions {
  readonly profile?: string;
}

/** @param command  makes a subcommand of `job` with the options that all of them have */
export function addEscrowCommands(command: (name: string, description: string) => Command): void {
  command('exit', 'leave an escrow whose other side was silent too long, or that nobody accepted')
    .argument('<id>', 'job id')
    .action((id: string, options: EscrowOptions) =>
      onChain(options, async (chain, profile) => {
        const { call, receipt } = await exitEscrow(chain.escrow, ownTerms(profile, id), await chain.now());
        printResult(options, { call, transaction: receipt.txHash }, () =>
          table([
            [call, receipt.txHash],
            ['next', 'veritrain job withdraw'],
          ]),
        );
      }),
    );
  command('missing', 'say on chain that the result cannot be fetched; costs a deposit until it is answered')
    .argument('<id>', 'job id')
    .action((id: string, options: EscrowOptions) =>
      onChain(options, async (chain, profile) => {
        const { txHash } = await chain.escrow.missing(ownTerms(profile, id));
        printResult(options, { transaction: txHash }, () => table([['missing', txHash]]));
      }),
    );
  command('withdraw', 'take out what escrows owe to this account').action((options: EscrowOptions) =>
    onChain(options, async (chain) => {
      const native = new Uint8Array(20);
      const amount = await chain.escrow.creditOf(await chain.escrow.signer.getAddress(), native);
      const receipt = await chain.escrow.withdraw(native);
      const transaction = receipt?.txHash ?? null;
      printResult(options, { amountWei: String(amount), transaction }, () =>
        transaction === null ? 'nothing to withdraw' : table([[`${formatEther(amount)} withdrawn`, transaction]]),
      );
    }),
  );
}

async function onChain(
  options: EscrowOptions,
  work: (chain: ClientChain, profile: ReturnType<typeof loadProfile>) => Promise<void>,
): Promise<void> {
  const profile = loadProfile(options.profile);
  const chain = openChain(profile);
  try {
    await work(chain, profile);
  } finally {
    chain.close();
  }
}
