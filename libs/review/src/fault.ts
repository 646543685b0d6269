/** A coded failure as what a page shows of it. */
import { CodedError } from '#attestation/base';

export interface Fault {
  readonly code: string;
  readonly expected: string;
  readonly got: string;
  readonly action: string;
}

/** @returns undefined for an error without a code: a fault of the program */
export function faultOf(error: unknown): Fault | undefined {
  if (!(error instanceof CodedError)) return undefined;
  const { expected, got, action = 'ask whoever made the file for the original' } = error.detail;
  return { code: error.code, expected, got, action };
}
