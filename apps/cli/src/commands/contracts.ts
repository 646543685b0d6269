/** `veritrain contracts deploy|plan|status|verify|register-key`: the contracts that hold the money, and whether they are these. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { ChainKindJson } from '#libs/settlement/deployment';
import { later } from '../later.js';
import { addRoleCommands } from './contracts-roles.js';
import { addSnpCommands } from './contracts-snp.js';
import { digest, withFeeCap, withTarget } from './contracts-target.js';
import { address } from './ids.js';

export function addContractsCommands(contracts: Command): void {
  withFeeCap(withSetup(contracts.command('deploy')))
    .description('put a whole set of contracts on a chain, or the rest of one, and write down where they are')
    .requiredOption('--rpc <url>', 'JSON-RPC endpoint')
    .requiredOption('--key <file>', 'secp256k1 secret of the deploying account: 32 bytes as 0x-hexadecimal')
    .requiredOption('--out <file>', 'where the deployment file goes')
    .action(later(async () => (await import('../contracts/set.js')).deployAll));
  withSetup(contracts.command('plan'))
    .description('say without a chain what such a set is made from and where it will stand')
    .requiredOption('--out <file>', 'where the expectation goes that `verify --expect` reads')
    .action(later(async () => (await import('../contracts/set.js')).plan));
  contracts
    .command('register-key')
    .description('enter the Groth16 key of a proof, so that escrows may be settled by proofs under it')
    .requiredOption('--proof <file>', 'proofs as the prover wrote them: they carry the key')
    .requiredOption('--statement <file>', 'their statement')
    .option('--profile <file>', 'client profile; else VERITRAIN_PROFILE or the one of `veritrain up`')
    .option('--json', 'print one JSON document')
    .action(later(async () => (await import('../contracts/set.js')).registerKey));
  withTarget(contracts.command('status'))
    .description('show who governs the contracts, which verifiers are live, and what they hold')
    .action(later(async () => (await import('../contracts/set.js')).status));
  withTarget(contracts.command('verify'))
    .description('compute every address again, and compare what the roles have done since')
    .option('--expect <file>', 'what the set must be made from, as `contracts plan` writes it')
    .option('--own-setup', 'take the deployment file’s own word for it, roles included')
    .action(later(async () => (await import('../contracts/set.js')).verify));
  addRoleCommands(contracts);
  addSnpCommands(contracts);
}

function withSetup(command: Command): Command {
  return command
    .requiredOption('--chain-id <n>', 'chain that the contracts are for', whole)
    .addOption(new Option('--chain-kind <kind>', 'of a chain whose id says nothing').choices(ChainKindJson.options))
    .option('--salt <word>', 'makes another set of the same contracts', digest)
    .option('--governor <address>', 'rotates roles, adds verifiers and tokens; else the deploying account', address)
    .option('--guardian <address>', 'may refuse new jobs and retire verifiers; else the deploying account', address)
    .option('--treasury <address>', 'receives fees; else the deploying account', address)
    .option('--revoker <address>', 'condemns chips and certificates; else the deploying account', address)
    .option('--token <address>', 'an ERC-20 token beside the native coin; give it once for each', addresses, [])
    .option(
      '--simulated-vendor <file>',
      'have reports of this simulated vendor taken as AMD’s are, once for each; on a local chain alone',
      files,
      [],
    )
    .option('--development-keys', 'let the Groth16 verifier take keys whose maker can forge proofs: for tests alone')
    .option('--proof-facts', 'also a contract that takes step proofs in pieces, for those that fit no transaction')
    .option(
      '--auditors-policy <id>',
      'also a verifier of segments that enclaves under this policy of SnpRegistry trained again',
      digest,
    )
    .option('--auditors-threshold <n>', 'how many machines must agree', whole, 2)
    .option(
      '--validation-registry <address>',
      'also an adapter that tells this ERC-8004 registry how jobs ended',
      address,
    )
    .option('--json', 'print one JSON document');
}

function addresses(value: string, all: readonly string[]): string[] {
  return [...all, address(value)];
}

function files(value: string, all: readonly string[]): string[] {
  return [...all, value];
}

function whole(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('a whole number of at least 1');
  return value;
}
