/** What a job goes on from: a checkpoint in one message, or one in pieces, opened as they come (enclave/SPEC.md, checkpoints). */
import { checkpointBytesMax, Rejection } from '#attestation/base';
import { checkpointPiecesContext, readCheckpointHead, type Checkpoint } from '#attestation/records';
import {
  checkpointKey,
  openCheckpoint,
  openedBytes,
  openPieces,
  type OpenedBytes,
  type PieceOpener,
  type SealingSecrets,
} from '#libs/sealing';
import { decodeWeights, readWeights, type JobManifest, type Weights } from '#libs/step';

/** A checkpoint as it came: sealed, or opened already. */
export type GivenCheckpoint = Uint8Array | OpenedBytes;

export interface IncomingPieces {
  /** @param index 0 begins anew @throws Rejection PIECES_ORDER, PIECES_SIZE, CHECKPOINT_AUTHENTICATION */
  take(index: number, piece: Uint8Array): Promise<void>;
  /**
   * @param last of the pieces, or a whole checkpoint where none came before it
   * @throws Rejection as `take`, PIECES_MISSING
   */
  end(last: Uint8Array | null): Promise<GivenCheckpoint | null>;
}

export function incomingPieces(secrets: SealingSecrets): IncomingPieces {
  let opener: PieceOpener | null = null;
  let parts: Uint8Array[] = [];
  const begin = async (): Promise<PieceOpener> =>
    openPieces({
      ...{ key: await checkpointKey(secrets), associatedData: checkpointPiecesContext(secrets.jobId) },
      ...{ code: 'CHECKPOINT_AUTHENTICATION', what: 'a checkpoint of this job', bytesMax: checkpointBytesMax },
    });
  return {
    async take(index, piece) {
      if (index === 0) [opener, parts] = [await begin(), []];
      if (opener === null || index !== parts.length) {
        throw new Rejection('PIECES_ORDER', {
          expected: `piece 0 or ${parts.length}`,
          got: `piece ${index}`,
          rule: 'enclave/SPEC.md, checkpoints',
          action: 'send the pieces in order',
        });
      }
      parts.push(await opener.take(piece));
    },
    async end(last) {
      const [begun, opened] = [opener, parts];
      [opener, parts] = [null, []];
      if (begun === null) return last;
      if (last !== null) opened.push(await begun.take(last));
      begun.end();
      return openedBytes(opened);
    },
  };
}

interface Resumed extends Omit<Checkpoint, 'version' | 'weights' | 'best'> {
  readonly weights: Weights;
  /** Those of the best evaluation where they are others. @throws Rejection WEIGHTS_* */
  readonly best?: () => Weights;
}

/** @throws Rejection CHECKPOINT_AUTHENTICATION, CBOR_*, MESSAGE_SHAPE, WEIGHTS_*, PIECES_SIZE */
export async function readResumed(
  { jobId, manifest }: { readonly jobId: Uint8Array; readonly manifest: JobManifest },
  sealingKey: Uint8Array,
  given: GivenCheckpoint,
): Promise<Resumed> {
  if (given instanceof Uint8Array) {
    const { weights, best, ...rest } = await openCheckpoint(sealingKey, jobId, given);
    const kept = best && { best: () => decodeWeights(manifest, best) };
    return { ...rest, weights: decodeWeights(manifest, weights), ...kept };
  }
  const { weights: _bytes, best: bestBytes, ...rest } = readCheckpointHead(given.take);
  const weights = readWeights(manifest, given.take);
  const best = bestBytes === undefined ? undefined : readWeights(manifest, given.take);
  given.end();
  return { ...rest, weights, ...(best && { best: () => best }) };
}
