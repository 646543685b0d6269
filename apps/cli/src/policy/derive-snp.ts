/** What `veritrain policy snp` does; commands/policy-snp.ts has its options. */
import { writeWhole } from '#libs/client/files';
import { readPolicy } from '#libs/client/judging';
import { snpPolicyOf } from '#libs/settlement';
import { printResult, table, type OutputOptions } from '../output.js';

interface SnpOptions extends OutputOptions {
  readonly owner: string;
  readonly validFor: number;
  readonly nonceBlocks: number;
  readonly product?: Parameters<typeof snpPolicyOf>[1]['products'];
  readonly out?: string;
}

export function deriveSnp(file: string, options: SnpOptions): void {
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
