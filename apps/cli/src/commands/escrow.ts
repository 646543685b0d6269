/** `veritrain job settle|challenge|prove-segment|exit|missing|unseal|resign|withdraw`: an escrow and its money. */
import { InvalidArgumentError, type Command } from 'commander';
import { later } from '../later.js';
import { address, jobId } from './ids.js';

/** @param command  makes a subcommand of `job` with the options that all of them have */
export function addEscrowCommands(command: (name: string, description: string) => Command): void {
  const ofJob = (name: string, description: string): Command =>
    command(name, description)
      .argument('<id>', 'job id', jobId)
      .option('--terms <file>', 'terms of the escrow as JSON, where this profile did not submit the job');
  ofJob('settle', 'take the next step that ends a committed escrow: draw the sample, end it for a missed proof, pay')
    .option('--seed <file>', 'seed that the terms commit to, 32 bytes as 0x-hexadecimal, where the profile has none')
    .action(later(async () => (await import('../job/escrow-calls.js')).settle));
  ofJob('challenge', 'deposit a bond and name a false segment: the node proves it or loses its stake')
    .requiredOption('--segment <n>', 'segment, from 0', whole)
    .action(later(async () => (await import('../job/escrow-calls.js')).challenge));
  ofJob('prove-segment', 'show step proofs of segments that are due, challenged or not')
    .requiredOption('--proof <file>', 'proofs as the prover wrote them')
    .requiredOption('--statement <file>', 'their statement')
    .action(later(async () => (await import('../job/escrow-calls.js')).proveSegment));
  ofJob('exit', 'leave an escrow whose other side was silent too long, or that nobody accepted').action(
    later(async () => (await import('../job/escrow-calls.js')).exit),
  );
  ofJob('missing', 'say on chain that the result cannot be fetched; costs a deposit until it is answered').action(
    later(async () => (await import('../job/escrow-calls.js')).missing),
  );
  ofJob('unseal', 'take the seal of a committed run away: a key behind it was revoked, or its machine condemned')
    .requiredOption('--sealing-key <address>', 'account of that settlement key', address)
    .action(later(async () => (await import('../job/escrow-calls.js')).unseal));
  ofJob('resign', 'give a started escrow back as its provider: price to the client, stake to you').action(
    later(async () => (await import('../job/escrow-calls.js')).resign),
  );
  command('withdraw', 'take out what escrows owe to this account')
    .option('--to <address>', 'who gets it; else this account', address)
    .option('--free-stake', 'also the stake that no job holds, as a provider whose nodes are ended')
    .action(later(async () => (await import('../job/escrow-calls.js')).withdraw));
}

function whole(text: string): number {
  const value = Number(text);
  if (text === '' || !Number.isSafeInteger(value) || value < 0) throw new InvalidArgumentError('a whole number');
  return value;
}
