/**
 * TCB_VERSION: eight security version numbers whose places depend on the product (AMD 56860, TCB_VERSION). Versions are
 * compared component by component; one integer comparison would let a high microcode hide an old boot loader.
 */
import { Rejection } from '../base/errors.js';

export const tcbComponents = ['fmc', 'bootLoader', 'tee', 'snp', 'microcode'] as const;
export type TcbComponent = (typeof tcbComponents)[number];
/** `fmc` only on Turin. */
export type Tcb = Readonly<Partial<Record<TcbComponent, number>>>;

/** structVersion of the endorsement: 0 Milan and Genoa, 1 Turin. */
export type TcbLayout = 0 | 1;

/** Byte of each component; every other byte is reserved. */
export const tcbOffsets: Readonly<Record<TcbLayout, Readonly<Partial<Record<TcbComponent, number>>>>> = {
  0: { bootLoader: 0, tee: 1, snp: 6, microcode: 7 },
  1: { fmc: 0, bootLoader: 1, tee: 2, snp: 3, microcode: 7 },
};

/** @throws Rejection SNP_TCB_RESERVED when a reserved byte is set: the layout is not the one assumed */
export function readTcb(bytes: Uint8Array, layout: TcbLayout): Tcb {
  const offsets = tcbOffsets[layout];
  const used = Object.values(offsets);
  if (bytes.some((byte, index) => byte !== 0 && !used.includes(index))) {
    throw new Rejection('SNP_TCB_RESERVED', {
      expected: `zero outside bytes ${used.join(', ')}`,
      got: bytes.join(' '),
      rule: 'AMD 56860 TCB_VERSION; attestation/SPEC.md §5.3',
    });
  }
  return Object.fromEntries(Object.entries(offsets).map(([component, offset]) => [component, bytes[offset]!]));
}

/** Components in which `tcb` lies below `floor`; a component that the floor does not name is free. */
export function tcbBelow(tcb: Tcb, floor: Tcb): TcbComponent[] {
  return tcbComponents.filter(
    (component) => floor[component] !== undefined && (tcb[component] ?? 0) < floor[component],
  );
}

export function tcbText(tcb: Tcb): string {
  return tcbComponents
    .filter((component) => tcb[component] !== undefined)
    .map((component) => `${component} ${tcb[component]}`)
    .join(', ');
}
