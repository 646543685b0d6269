/**
 * Large secrets in sealed pieces, one in memory at a time (attestation/src/records/pieces.ts). A piece opens at its own
 * place of its own sealing alone: none can be left out, put elsewhere, said twice, or be one of another sealing.
 */
import { concatBytes, Rejection, uintBe } from '#attestation/base';
import {
  encodePiecesHead,
  parsePiecesHead,
  pieceAssociatedData,
  pieceBytes,
  pieceCount,
  piecesHeadBytes,
  piecesKeyInfo,
  type PiecesHead,
} from '#attestation/records';
import { deriveKey, open, seal } from './aead.js';

interface PiecesContext {
  /** The key of one sealing follows from it. */
  readonly key: Uint8Array;
  /** What the pieces are, and of which job. */
  readonly associatedData: Uint8Array;
}

interface OpeningContext extends PiecesContext {
  /** Code of a piece that does not authenticate. */
  readonly code: string;
  /** What is opened, for the error. */
  readonly what: string;
  /** Of plaintext. */
  readonly bytesMax: number;
}

/**
 * @param source bytes in parts of any size
 * @param length of all of them
 * @returns each piece as it is to be sent, the first with the head in front
 */
export async function* sealPieces(
  source: Iterable<Uint8Array>,
  length: number,
  { key, associatedData }: PiecesContext,
): AsyncGenerator<Uint8Array> {
  const salt = crypto.getRandomValues(new Uint8Array(32));
  const sealingKey = await deriveKey(key, salt, piecesKeyInfo());
  const head = encodePiecesHead({ salt, length });
  let index = 0;
  for (const cut of cutsOf(source)) {
    const sealed = await seal(sealingKey, nonceOf(index), cut, pieceAssociatedData(index, length, associatedData));
    yield index === 0 ? concatBytes(head, sealed) : sealed;
    index += 1;
  }
}

export interface PieceOpener {
  /**
   * The next piece. One that is refused changes nothing.
   * @throws Rejection PIECES_SIZE, PIECES_ORDER, and the context's code
   */
  take(piece: Uint8Array): Promise<Uint8Array>;
  /** @throws Rejection PIECES_MISSING before the last piece was taken */
  end(): void;
}

export function openPieces({ key, associatedData, code, what, bytesMax }: OpeningContext): PieceOpener {
  let head: PiecesHead | null = null;
  let index = 0;
  return {
    async take(piece) {
      const known = head ?? headOf(piece, bytesMax);
      const count = pieceCount(known.length);
      if (index >= count) throw refused('PIECES_ORDER', `${count} pieces`, 'one more');
      const sealed = index === 0 ? piece.subarray(piecesHeadBytes) : piece;
      const sealingKey = await deriveKey(key, known.salt, piecesKeyInfo());
      const bound = pieceAssociatedData(index, known.length, associatedData);
      const opened = await open(code, `piece ${index} of ${what}`, sealingKey, nonceOf(index), sealed, bound);
      const size = Math.min(pieceBytes, known.length - index * pieceBytes);
      if (opened.length !== size) throw refused('PIECES_SIZE', `${size} bytes in piece ${index}`, `${opened.length}`);
      head = known;
      index += 1;
      return opened;
    },
    end() {
      const count = head === null ? 'every' : pieceCount(head.length);
      if (index !== count) throw refused('PIECES_MISSING', `${count} pieces of ${what}`, `${index}`);
    },
  };
}

function headOf(piece: Uint8Array, bytesMax: number): PiecesHead {
  const head = parsePiecesHead(piece);
  if (head !== null && head.length > 0 && head.length <= bytesMax) return head;
  const got = head === null ? `a first piece of ${piece.length} bytes` : `${head.length} bytes`;
  throw refused('PIECES_SIZE', `pieces of 1 to ${bytesMax} bytes together`, got);
}

/** The same bytes in cuts of `pieceBytes`, the last one shorter. */
function* cutsOf(source: Iterable<Uint8Array>): Generator<Uint8Array> {
  let parts: Uint8Array[] = [];
  let held = 0;
  for (const given of source) {
    let rest = given;
    while (held + rest.length >= pieceBytes) {
      const part = rest.subarray(0, pieceBytes - held);
      yield concatBytes(...parts, part);
      rest = rest.subarray(part.length);
      [parts, held] = [[], 0];
    }
    if (rest.length > 0) parts.push(rest);
    held += rest.length;
  }
  if (held > 0) yield concatBytes(...parts);
}

/** 12 bytes; the key is of this sealing alone. */
function nonceOf(index: number): Uint8Array {
  return uintBe(index, 12);
}

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, {
    expected,
    got,
    rule: 'attestation/SPEC.md, pieces',
    action: 'fetch it again, whole and in order',
  });
}
