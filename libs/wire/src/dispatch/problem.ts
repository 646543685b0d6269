/** The one body of every failure: RFC 9457 problem details with the fields of a coded error. */
export interface Problem {
  /** URN that names the code. */
  readonly type: string;
  readonly title: string;
  /** HTTP status, also in dispatch answers. */
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly expected: string;
  readonly got: string;
  readonly rule: string;
  readonly action: string;
  /** The request this happened in. */
  readonly instance: string;
}

/** True for the error a dispatch call rejects with when the control plane refused it. */
export function isProblem(value: unknown): value is Problem {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Problem).code === 'string' &&
    typeof (value as Problem).status === 'number'
  );
}
