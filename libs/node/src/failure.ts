/** How a node tells the control plane why it failed. */
import { CodedError, type Explanation } from '#attestation/base';
import { codePattern, plainText } from './refusal.js';

const detailMax = 900;

/** @param internal  code of what is no coded failure, or whose code no message can carry */
export function failureOf(error: unknown, internal: string): { code: string; detail: string } {
  if (!(error instanceof CodedError) || !codePattern.test(error.code)) {
    return { code: internal, detail: 'the node failed; its log says how' };
  }
  return { code: error.code, detail: detailOf(error.detail) };
}

/** @param detail  what was expected, what came and, where it is known, what to do */
export function detailOf({ expected, got, action }: Omit<Explanation, 'rule'>): string {
  return plainText(`expected ${expected}, got ${got}${action ? `; ${action}` : ''}`, detailMax);
}
