/**
 * The transcript inventory: one tag for every place where the verifier draws randomness (libs/zk/SPEC.md §5). A
 * challenge drawn under one tag can never be replayed for another; a test compares this list with the calls in the
 * code.
 */
export const SITE = {
  oodS: 0x01,
  alpha: 0x02,
  beta: 0x03,
  gkrLambda: 0x04,
  maskedRound: 0x05,
  gkrMu: 0x06,
  gammaProducts: 0x07,
  gammaMatmuls: 0x08,
  gammaClasses: 0x09,
  gammaUpdates: 0x0a,
  tau: 0x0b,
  eta: 0x0c,
  rowRound: 0x0d,
  delta: 0x0e,
  oodLevel: 0x0f,
  queries0: 0x10,
  beta1: 0x11,
  levelRowRound: 0x12,
  queriesLevel: 0x13,
  betaLevel: 0x14,
  columnRound: 0x15,
  pow: 0x20,
} as const;

export type Site = keyof typeof SITE;
