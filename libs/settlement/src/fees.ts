/** What a transaction may cost. Fees are what an endpoint suggests: without a cap it could spend the whole account. */
import type { TransactionRequest } from 'ethers';
import { CollateralError } from '#attestation/base';
import { chainSettings, type ChainKind } from './chain-kinds.js';

/** The tip goes to the builder of the block, who may be whoever names it: at most this part of the cap. */
const tipDivisor = 10n;

/** Where a client of the escrow has its cap. */
const feeSetting =
  'chain.feePerGasMaxWei in the settings or the profile (--fee-per-gas-max of `veritrain contracts`); a tenth of it may be the tip';

/** Who sends something on a chain that nobody named a kind of. */
export const greatestFeePerGasWei = chainSettings.l1.feePerGasMaxWei;

export function feeCapOf(kind: ChainKind, named: bigint | undefined): bigint {
  return named ?? chainSettings[kind].feePerGasMaxWei;
}

type Fees = Pick<TransactionRequest, 'maxFeePerGas' | 'maxPriorityFeePerGas' | 'gasPrice'>;

/**
 * Without a base fee the whole price is a tip.
 *
 * @param feePerGasMaxWei  most that a unit of gas may cost, the tip included
 * @param setting  what raises it, as whoever runs this process has it
 * @throws CollateralError CHAIN_FEES
 */
export function checkFees(
  { maxFeePerGas, maxPriorityFeePerGas, gasPrice }: Fees,
  feePerGasMaxWei: bigint,
  setting = feeSetting,
): void {
  const most = { fee: feePerGasMaxWei, tip: feePerGasMaxWei / tipDivisor };
  const fee = BigInt(maxFeePerGas ?? gasPrice ?? 0n);
  const tip = BigInt(maxPriorityFeePerGas ?? gasPrice ?? 0n);
  if (fee <= most.fee && tip <= most.tip) return;
  throw new CollateralError('CHAIN_FEES', {
    expected: `gas at ${most.fee} wei or less, a tip of ${most.tip} wei or less in it`,
    got: `${fee} wei, a tip of ${tip} wei in it`,
    rule: 'contracts/SPEC.md §18a',
    action: `wait for emptier blocks, or ask another endpoint; if the price is right, raise ${setting}`,
  });
}
