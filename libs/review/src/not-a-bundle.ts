/** Files that somebody takes for a bundle: which begin as one, and what is said of those that are none. */
import { parsePolicy } from '#attestation';
import { CodedError, ConfigurationError, decodeCanonical, fromUtf8, Rejection } from '#attestation/base';
import { faultOf, type Fault } from './fault.js';
import { policyBytesMax } from './limits.js';

const rule = 'attestation/SPEC.md, bundle';
const original = 'ask whoever made the file for the original';

/** Whether a file begins as bundles do: with a map, and a name in it. */
export function beginsAsBundle([first = 0, second = 0]: Uint8Array): boolean {
  return first >> 5 === 5 && second >> 5 === 3;
}

export function isText(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 256).every((byte) => byte === 9 || byte === 10 || byte === 13 || (byte > 31 && byte < 127));
}

/** The same failure with what the file is instead of a bundle, and what to do. Others than codes are left as they are. */
export function explained(bytes: Uint8Array, error: unknown): unknown {
  if (!(error instanceof Rejection)) return error;
  const { code, detail } = error;
  if (canBeRead(bytes)) return new Rejection(code, { ...detail, action: detail.action ?? original });
  if (!beginsAsBundle(bytes)) {
    const action = 'name the bundle of the job, `job.vtb`: `job result` writes it';
    return new Rejection(code, {
      expected: 'an evidence bundle (.vtb)',
      got: `this is none: ${kindOf(bytes)}`,
      rule,
      action,
    });
  }
  const { expected, got } = detail;
  return new Rejection(code, {
    expected: `a whole bundle: ${expected}`,
    got: damageOf(bytes, got),
    rule,
    action: original,
  });
}

function canBeRead(bytes: Uint8Array): boolean {
  try {
    decodeCanonical(bytes);
    return true;
  } catch (error) {
    if (error instanceof CodedError) return false;
    throw error;
  }
}

function kindOf(bytes: Uint8Array): string {
  if (bytes.length === 0) return 'the file is empty';
  if (bytes[0] === 0xd2) return 'a signed document, such as a report';
  if (!isText(bytes)) return `${bytes.length} bytes of another kind`;
  return bytes[0] === 0x7b || bytes[0] === 0x5b ? 'JSON' : 'text';
}

/** A length that was altered looks like an end that is missing, or like bytes too many. */
function damageOf({ length }: Uint8Array, got: string): string {
  const [, behind] = /^(\d+) trailing bytes$/.exec(got) ?? [];
  if (behind !== undefined) return `${behind} bytes behind its end: something was appended, or altered`;
  const isShort = got === 'the end of the input' || /^\d+$/.test(got);
  return isShort ? `cut off after ${length} bytes, or altered: ${got}` : `altered: ${got}`;
}

/** Why a file that is a policy may not be judged by, such as pins that are still open; undefined for any other file. */
export function policyFault(bytes: Uint8Array): Fault | undefined {
  if (bytes.length > policyBytesMax || bytes.find((byte) => byte > 0x20) !== 0x7b) return undefined;
  try {
    parsePolicy(fromUtf8(bytes));
    return undefined;
  } catch (error) {
    return error instanceof ConfigurationError ? faultOf(error) : undefined;
  }
}
