/** Product lines with their own root of trust, and how a report names its product (attestation/SPEC.md §5.4). */
import { isZero } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import type { SnpReport } from './abi.js';
import type { TcbLayout } from './tcb.js';

export type SnpProduct = 'Milan' | 'Genoa' | 'Turin';
export const snpProducts: readonly SnpProduct[] = ['Milan', 'Genoa', 'Turin'];

/** CPUID family and inclusive model range. Bergamo and Siena (0xa0..0xaf) are endorsed by the Genoa root. */
const productModels: readonly { family: number; from: number; to: number; product: SnpProduct }[] = [
  { family: 0x19, from: 0x00, to: 0x0f, product: 'Milan' },
  { family: 0x19, from: 0x10, to: 0x1f, product: 'Genoa' },
  { family: 0x19, from: 0xa0, to: 0xaf, product: 'Genoa' },
  { family: 0x1a, from: 0x00, to: 0x11, product: 'Turin' },
];

export const productLayout: Readonly<Record<SnpProduct, TcbLayout>> = { Milan: 0, Genoa: 0, Turin: 1 };
/** Bytes of a chip's id. */
export const hwidBytes: Readonly<Record<SnpProduct, number>> = { Milan: 64, Genoa: 64, Turin: 8 };

/**
 * Whether two spellings name one chip: a report writes Turin's 8 bytes with 56 zeros behind them, an endorsement without.
 * @param a  lower-case hexadecimal, as is @param b
 */
export function sameChip(a: string, b: string): boolean {
  return shortChipId(a) === shortChipId(b);
}

function shortChipId(id: string): string {
  return /^[0-9a-f]{16}0{112}$/.test(id) ? id.slice(0, 16) : id;
}

/**
 * Products the report can come from: one for version 3 and later; for version 2, which carries no CPUID, those whose
 * chip id has this shape.
 * @throws Rejection SNP_PRODUCT_UNSUPPORTED
 */
export function candidateProducts(report: SnpReport): readonly SnpProduct[] {
  const { cpuid } = report;
  if (cpuid === undefined) {
    const short = !isZero(report.chipId) && isZero(report.chipId.subarray(8));
    return short ? ['Turin'] : ['Milan', 'Genoa'];
  }
  const found = productModels.find(
    ({ family, from, to }) => cpuid.family === family && cpuid.model >= from && cpuid.model <= to,
  );
  if (found === undefined) {
    throw new Rejection('SNP_PRODUCT_UNSUPPORTED', {
      expected: 'Milan, Genoa, Bergamo, Siena or Turin',
      got: `family 0x${cpuid.family.toString(16)}, model 0x${cpuid.model.toString(16)}`,
      rule: 'AMD 57230; attestation/SPEC.md §5.4',
      action: 'this verifier holds no root for that product',
    });
  }
  return [found.product];
}
