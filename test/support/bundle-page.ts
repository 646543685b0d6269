/** What the browser runs: an evidence bundle in, the verdict out. Bundled by the test; imports nothing of Node. */
import { verifyBundle } from '#attestation';
import { fromBase64 } from '#attestation/base';
import { verifyBundledProof } from '#libs/proof';

/** @returns JSON of tier, steps, and every check with its status */
export async function judgeBundle(base64: string): Promise<string> {
  const { tier, steps, checks } = await verifyBundle({ bundle: fromBase64(base64), proofs: verifyBundledProof });
  return JSON.stringify({ tier, steps, checks: checks.map(({ code, status, got }) => ({ code, status, got })) });
}

(globalThis as { judgeBundle?: typeof judgeBundle }).judgeBundle = judgeBundle;
