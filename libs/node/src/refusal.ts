/** What others answer when they refuse, as far as it can be believed to be text. */
import { Rejection } from '#attestation/base';

/** A stable failure code, as every message carries it. */
export const codePattern = /^[A-Z][A-Z0-9_]{2,63}$/;

/** Text for people: no control or format characters, no line breaks, bounded: what `text` of libs/wire takes. */
export function plainText(value: string, charactersMax: number): string {
  return value.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, charactersMax);
}

const textMax = 400;

/**
 * @param problem  of any shape: members that are no text are left out
 * @param unnamed  code where the problem has none of the form of one; and what was expected and got
 */
export function refusalOf(
  problem: Readonly<Record<string, unknown>>,
  unnamed: { readonly code: string; readonly expected: string; readonly got: string; readonly rule: string },
): Rejection {
  const member = (name: string): string | undefined => {
    const value = problem[name];
    return typeof value === 'string' ? plainText(value, textMax) : undefined;
  };
  const code = member('code') ?? '';
  const action = member('action');
  return new Rejection(codePattern.test(code) ? code : unnamed.code, {
    expected: member('expected') ?? unnamed.expected,
    got: member('got') ?? unnamed.got,
    rule: member('rule') ?? unnamed.rule,
    ...(action !== undefined && { action }),
  });
}
