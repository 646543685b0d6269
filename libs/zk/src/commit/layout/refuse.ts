/** One helper for refusals of this folder. */
import { inWords, Rejection } from '#attestation/base';

/** @throws Rejection always, with `code` */
export function refuse(code: string, expected: string, got: unknown, rule: string): never {
  throw new Rejection(code, { expected, got: inWords(got), rule });
}
