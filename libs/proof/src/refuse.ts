/** How libs/proof refuses. */
import { inWords, Rejection } from '#attestation/base';

/** @throws Rejection always, with `code` */
export function refuse(code: string, expected: string, got: unknown, rule: string): never {
  throw new Rejection(code, { expected, got: inWords(got).slice(0, 120), rule });
}
