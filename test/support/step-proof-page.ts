/** What a browser runs: step proofs as JSON in, verdicts as JSON out. Bundled by the test; imports nothing of Node. */
import { CodedError, fromBase64, toBase64, toHex } from '#attestation/base';
import { verifyStepProof, type StepProofStatement } from '#libs/zk/verifier';

export interface ProofCase {
  readonly proof: Uint8Array;
  readonly statement: StepProofStatement;
}

/** JSON with byte strings as `{ base64 }`. */
export function portableCases(cases: readonly ProofCase[]): string {
  return JSON.stringify(cases, (_name, value: unknown) =>
    value instanceof Uint8Array ? { base64: toBase64(value) } : value,
  );
}

/** @returns what each case came to: the accepted proof, or the refusal in full */
export function judgeProofs(json: string): string {
  const cases = JSON.parse(json, (_name, value: unknown) =>
    typeof value === 'object' && value !== null && 'base64' in value ? fromBase64(value.base64 as string) : value,
  ) as readonly ProofCase[];
  return JSON.stringify(cases.map(judge));
}

function judge({ proof, statement }: ProofCase): unknown {
  try {
    const { weightsBefore, weightsAfter, outerDigest, ...rest } = verifyStepProof(proof, statement);
    return { ...rest, digests: [weightsBefore, weightsAfter, outerDigest].map(toHex) };
  } catch (error) {
    if (error instanceof CodedError) return error;
    throw error;
  }
}

(globalThis as { judgeProofs?: typeof judgeProofs }).judgeProofs = judgeProofs;
