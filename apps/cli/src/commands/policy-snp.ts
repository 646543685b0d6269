/** `veritrain policy snp`: the policy of SnpRegistry that fits an appraisal policy, and what it cannot demand. */
import { Option, type Command } from 'commander';
import { snpProducts, type SnpProduct } from '#attestation';
import { readPolicy } from '#libs/client';
import { writeWhole } from '#libs/client/files';
import { snpPolicyOf } from '#libs/settlement';
import { printResult, table, wholeNumber, type OutputOptions } from '../output.js';
import { address } from './ids.js';

interface SnpOptions extends OutputOptions {
  readonly owner: string;
  readonly validFor: number;
  readonly nonceBlocks: number;
  readonly product?: SnpProduct[];
  readonly out?: string;
}

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
    .action(derive);
}

function derive(file: string, options: SnpOptions): void {
  const { owner, validFor: validForSeconds, nonceBlocks, product: products } = options;
  const plan = snpPolicyOf(readPolicy(file).policy, {
    ...{ owner, validForSeconds, nonceBlocks, at: Math.floor(Date.now() / 1000) },
    ...(products !== undefined && { products }),
  });
  if (options.out !== undefined) writeWhole(options.out, `${JSON.stringify(plan.policy, undefined, 2)}\n`);
  printResult(options, plan, () =>
    table([
      ['id', plan.id],
      ...plan.measurements.map((image) => ['allow the image', image] as const),
      ...plan.notDemanded.map((what) => ['not demanded on chain', what] as const),
      ...plan.stricter.map((what) => ['refused on chain besides', what] as const),
    ]),
  );
}
