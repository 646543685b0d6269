/**
 * The three families of failure, by who must act. Every failure carries a stable code, what was expected, what came,
 * the rule that was broken and what to do about it.
 */

export interface Explanation {
  /** What the rule demands, in words or as a value. */
  readonly expected: string;
  /** What was found; never a secret. */
  readonly got: string;
  /** Document and clause of the rule, for example "libs/step/SPEC.md §10 R1" or "RFC 5280 §6.1.3". */
  readonly rule: string;
  /** What the reader can do now. */
  readonly action?: string;
}

export abstract class CodedError extends Error {
  abstract readonly family: 'configuration' | 'collateral' | 'rejection';

  constructor(
    readonly code: string,
    readonly detail: Explanation,
  ) {
    super(`${code}: expected ${detail.expected}, got ${detail.got} (${detail.rule})`);
    this.name = new.target.name;
  }

  toJSON(): Record<string, unknown> {
    return { family: this.family, code: this.code, ...this.detail };
  }
}

/** Fix the configuration: the request or the settings are wrong, nothing was judged. */
export class ConfigurationError extends CodedError {
  readonly family = 'configuration';
}

/** Material needed for a verdict is missing or unreachable: retry or supply it. Never a verdict. */
export class CollateralError extends CodedError {
  readonly family = 'collateral';
}

/** The thing itself is bad: stop. */
export class Rejection extends CodedError {
  readonly family = 'rejection';
}

/** Shallow on purpose: what came may be nested as deep as its sender liked, and have a `toString` of its own. */
export function inWords(value: unknown): string {
  if (Array.isArray(value)) {
    const isFlat = value.length <= 16 && value.every((entry) => typeof entry !== 'object');
    return isFlat ? `[${value.map(String).join(', ')}]` : `a list of ${value.length}`;
  }
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

/** What another process says of its failure: the members of `toJSON`, any of which may be missing or something else. */
export type Report = Readonly<Partial<Record<'family' | 'code' | keyof Explanation, unknown>>>;

/** The failure that another process reported, as it would have been thrown here; a rejection where it names no family. */
export function reportedError({ family, code, expected, got, rule, action }: Report): CodedError {
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  const detail = {
    expected: text(expected),
    got: text(got),
    rule: text(rule),
    ...(text(action) && { action: text(action) }),
  };
  if (family === 'configuration') return new ConfigurationError(text(code), detail);
  return family === 'collateral' ? new CollateralError(text(code), detail) : new Rejection(text(code), detail);
}
