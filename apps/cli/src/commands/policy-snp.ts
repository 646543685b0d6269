/** `veritrain policy snp`: the policy of SnpRegistry that fits an appraisal policy, and what it cannot demand. */
import { Option, type Command } from 'commander';
import { snpProducts } from '#attestation';
import { later } from '../later.js';
import { wholeNumber } from '../output.js';
import { address } from './ids.js';

const week = 7 * 24 * 3600;

export function addSnpPolicyCommand(policy: Command): void {
  policy
    .command('snp')
    .argument('<file>', 'an appraisal policy as JSON')
    .description('derive the policy that the chain itself checks, and say what it leaves to the key broker')
    .requiredOption('--owner <address>', 'who may allow images under it', address)
    .option('--valid-for <seconds>', 'after registration, within which a key may be bound to jobs', wholeNumber, week)
    .option('--nonce-blocks <n>', 'how old the block may be whose hash the session answers', wholeNumber, 1800)
    .addOption(
      new Option('--product <name...>', 'admitted; else those that the policy has floors for').choices(snpProducts),
    )
    .option('--out <file>', 'where the on-chain policy is written')
    .option('--json', 'print one JSON document')
    .action(later(async () => (await import('../policy/derive-snp.js')).deriveSnp));
}
