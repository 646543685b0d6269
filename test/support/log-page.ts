/** What the browser runs: a bundle that shows a log, and one proof with its cosignatures. Imports nothing of Node. */
import { verifyBundle } from '#attestation';
import { fromBase64 } from '#attestation/base';
import { leafHash, parseLogProof, parseTrustPolicy, verifyLogProof } from '#attestation/log';

export interface LogPageInput {
  /** Base64. */
  readonly bundle: string;
  readonly entry: string;
  readonly proof: string;
  /** tlog-policy of the bundle's readers, and of the proof's. */
  readonly trust: string;
  readonly cosigners: string;
}

const rounds = 30;

/** @returns the verdict as JSON */
export async function judgeLogged(input: string): Promise<string> {
  const { bundle, trust } = JSON.parse(input) as LogPageInput;
  const verdict = await verifyBundle({ bundle: fromBase64(bundle), logPolicy: parseTrustPolicy(trust) });
  const { tier, checks, log } = verdict;
  return JSON.stringify({ tier, checks, log });
}

/** @returns JSON of what the proof shows, and of the milliseconds that the quickest of some verifications took */
export function verifyProof(input: string): string {
  const { entry, proof, cosigners } = JSON.parse(input) as LogPageInput;
  const [leaf, policy] = [leafHash(fromBase64(entry)), parseTrustPolicy(cosigners)];
  let best = Infinity;
  let witnessedAt: number | null = null;
  for (let round = 0; round < rounds; round++) {
    const began = performance.now();
    ({ witnessedAt } = verifyLogProof(parseLogProof(proof), leaf, policy));
    best = Math.min(best, performance.now() - began);
  }
  return JSON.stringify({ witnessedAt, ms: best });
}

Object.assign(globalThis, { judgeLogged, verifyProof });
