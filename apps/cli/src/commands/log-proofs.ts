/** Proofs that a reader keeps: what a log proved once, its later checkpoints have to go on from. */
import { fromHex, fromUtf8, Rejection } from '#attestation/base';
import {
  checkConsistency,
  parseLogProof,
  proofCharactersMax,
  trustCheckpoint,
  type TrustPolicy,
} from '#attestation/log';
import { readBytes } from '#libs/client/files';
import { LogMisbehaved, TileReader, type MonitorAlert, type MonitorState, type tilesOf } from '#libs/log';

interface KeptProof {
  readonly file: string;
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
  /** Signed, verbatim. */
  readonly note: string;
}

/** @throws ConfigurationError FILE_*; Rejection LOG_PROOF, LOG_NOTE, LOG_UNKNOWN and as `trustCheckpoint` */
export function readProofs(files: readonly string[], policy: TrustPolicy): readonly KeptProof[] {
  return files.map((file) => {
    const text = fromUtf8(readBytes(file, proofCharactersMax));
    const { checkpoint } = trustCheckpoint(parseLogProof(text).checkpoint, policy);
    const { origin, size, root } = checkpoint;
    return { file, origin, size, root, note: text.slice(text.indexOf('\n\n') + 2) };
  });
}

/** @throws LogMisbehaved LOG_CONSISTENCY, with both notes: what was proved is not there any more */
export async function holdProofs(
  proofs: readonly KeptProof[],
  { size, root, note }: MonitorState,
  read: ReturnType<typeof tilesOf>,
): Promise<readonly MonitorAlert[]> {
  const alerts: MonitorAlert[] = [];
  for (const proof of proofs) {
    if (proof.size > size) {
      alerts.push({
        code: 'LOG_STALE',
        index: null,
        what: `checkpoint ${size}, and ${proof.file} is under ${proof.size}`,
      });
      continue;
    }
    try {
      const path = proof.size === size ? [] : await new TileReader(read, size).consistencyPath(proof.size);
      checkConsistency(proof, { size, root: fromHex(root) }, path);
    } catch (error) {
      if (error instanceof Rejection) throw new LogMisbehaved(error, [proof.note, note]);
      throw error;
    }
  }
  return alerts;
}
