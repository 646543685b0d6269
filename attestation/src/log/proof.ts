/** What shows offline that an entry stands in a log (C2SP tlog-proof). */
import { toBase64 } from '../base/bytes.js';
import type { Digest } from '../base/digest.js';
import { Rejection } from '../base/errors.js';
import { parseCheckpoint, parseSize, type SignedCheckpoint } from './checkpoint.js';
import { pathHashesMax, proofCharactersMax } from '../base/limits.js';
import { strictBase64 } from './note.js';
import { checkInclusion } from './tree.js';
import { trustCheckpoint, type TrustedCheckpoint, type TrustPolicy } from './trust-policy.js';

const head = 'c2sp.org/tlog-proof@v1';

export interface LogProof {
  readonly index: number;
  /** From the leaf up. */
  readonly path: readonly Digest[];
  readonly checkpoint: SignedCheckpoint;
}

/** @param checkpoint  the signed note, verbatim */
export function logProofText(index: number, path: readonly Digest[], checkpoint: string): string {
  return [head, `index ${index}`, ...path.map(toBase64), '', checkpoint].join('\n');
}

/** The shape of a proof that nobody has checked. Extra data, which nobody signs, is refused. @throws Rejection LOG_PROOF, LOG_NOTE, LOG_CHECKPOINT */
export function parseLogProof(text: string): LogProof {
  if (text.length > proofCharactersMax) throw broken(`at most ${proofCharactersMax} characters`, `${text.length}`);
  const split = text.indexOf('\n\n');
  const [first, indexLine, ...hashes] = text.slice(0, Math.max(split, 0)).split('\n');
  if (first !== head) throw broken(head, (first ?? '').slice(0, 60));
  const index = indexLine?.startsWith('index ') === true ? parseSize(indexLine.slice(6)) : null;
  if (index === null) throw broken('index NUMBER', (indexLine ?? '').slice(0, 60));
  return { index, path: parseHashes(hashes), checkpoint: parseCheckpoint(text.slice(split + 2)) };
}

/** One hash a line, at most 63. @throws Rejection LOG_PROOF */
export function parseHashes(lines: readonly string[]): Digest[] {
  if (lines.length > pathHashesMax) throw broken(`at most ${pathHashesMax} hashes`, `${lines.length}`);
  return lines.map((line) => {
    const hash = strictBase64(line, 'LOG_PROOF');
    if (hash.length !== 32) throw broken('hashes of 32 bytes', `${hash.length}`);
    return hash;
  });
}

/**
 * That the leaf stands under a checkpoint of a trusted log. Whether enough witnesses saw it is in what it returns.
 * @throws Rejection LOG_UNKNOWN, LOG_SIGNATURE, LOG_COSIGNATURE, LOG_INCLUSION
 */
export function verifyLogProof(proof: LogProof, leaf: Digest, policy: TrustPolicy): TrustedCheckpoint {
  const trusted = trustCheckpoint(proof.checkpoint, policy);
  checkInclusion(leaf, proof.index, proof.checkpoint, proof.path);
  return trusted;
}

function broken(expected: string, got: string): Rejection {
  return new Rejection('LOG_PROOF', { expected, got, rule: 'C2SP tlog-proof' });
}
