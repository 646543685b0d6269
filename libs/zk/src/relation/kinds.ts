/** The kinds of looked-up columns and of tables (libs/zk/SPEC.md §4.3). */

export const forwardKinds = ['act', 'l', 'h'] as const;
export const hiddenKinds = [...forwardKinds, 'G', 'lp', 'hp'] as const;
const logitKinds = ['exp', 'yr', 'lL', 'hL', 'Rp', 'pr'] as const;
const rowKinds = ['iota', 'r', 'sr'] as const;
export const weightKinds = ['lW', 'hW'] as const;
export const biasKinds = ['lb', 'hb'] as const;
export const tableKinds = ['TR', 'TA', 'TE'] as const;
/** Second lookups of limbs, unscaled, and of errors of less than 16 bits, scaled; the columns of mse; those of accuracy. */
const laterKinds = ['lu', 'Gs', 'lpu', 'lLu', 'lWu', 'lbu', 'gL', 'gLs', 'rm', 'q', 'vr'] as const;

/** Every column, in the order that digests number them. */
export const lookupKinds = [
  ...hiddenKinds,
  ...logitKinds,
  ...rowKinds,
  ...weightKinds,
  ...biasKinds,
  ...tableKinds,
  ...laterKinds,
] as const;

export type LookupKind = (typeof lookupKinds)[number];
