/** Anchors of a log on chain, held against what the log shows: where they do not fit there are two histories. */
import { InvalidArgumentError, type Command } from 'commander';
import { ConfigurationError, Rejection } from '#attestation/base';
import { checkConsistency, type TreeState } from '#attestation/log';
import type { TileReader } from '#libs/log';
import type { LogAnchor } from '#libs/settlement';

export interface ChainOptions {
  readonly rpc?: string;
  readonly chainId: number;
  readonly contract?: string;
  readonly sender?: string;
}

export function chained(command: Command): Command {
  return command
    .option('--rpc <url>', 'JSON-RPC endpoint of the chain')
    .option('--chain-id <n>', 'of that chain', wholeOf, 31337)
    .option('--contract <address>', 'LogAnchors; `log anchor` deploys one where absent', address);
}

/** @returns oldest first; none where no chain was named @throws ConfigurationError LOG_ANCHORS */
export async function anchorsOf(
  { rpc, chainId, contract, sender }: ChainOptions,
  origin: string,
): Promise<LogAnchor[]> {
  if (rpc === undefined && contract === undefined && sender === undefined) return [];
  if (rpc === undefined || contract === undefined || sender === undefined) {
    const detail = { expected: '--rpc, --contract and --sender together', got: 'some of them' };
    throw new ConfigurationError('LOG_ANCHORS', { ...detail, rule: 'apps/cli/README.md' });
  }
  const { withChain } = await import('../contracts/chain.js');
  const { anchorOrigin, readLogAnchors } = await import('#libs/settlement');
  return withChain(rpc, chainId, (provider) => {
    return readLogAnchors(provider, contract, { origin: anchorOrigin(origin), sender });
  });
}

/** What two histories look like; null: the log goes on from what was anchored. */
export async function anchorFault(
  { size, root, transaction }: LogAnchor,
  tree: TreeState,
  reader: TileReader,
): Promise<Rejection | null> {
  if (size > tree.size) {
    return new Rejection('LOG_ANCHOR_AHEAD', {
      ...{
        expected: `${size} entries, as ${transaction} anchored`,
        got: `${tree.size}`,
        rule: 'attestation/LOG.md §5',
      },
      action: 'ask the log again: it shows less than was anchored of it',
    });
  }
  try {
    checkConsistency({ size, root }, tree, size === tree.size ? [] : await reader.consistencyPath(size));
    return null;
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    return new Rejection('LOG_ANCHOR', {
      ...{ expected: `a tree that goes on from the ${size} entries that ${transaction} anchored`, got: error.code },
      ...{ rule: 'attestation/LOG.md §5', action: 'keep the note and the transaction: the log has two histories' },
    });
  }
}

export function address(text: string): string {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) throw new InvalidArgumentError('0x and 40 hexadecimal digits');
  return text;
}

function wholeOf(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('a whole number');
  return Number(text);
}
