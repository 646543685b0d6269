/** Plaintext that came in pieces, read from its front; what was read is given up. */
import { concatBytes, Rejection } from '#attestation/base';

export interface OpenedBytes {
  /** @throws Rejection PIECES_SIZE when fewer are left */
  take(bytes: number): Uint8Array;
  /** @throws Rejection PIECES_SIZE when any are left */
  end(): void;
}

/** @param parts in order; they are taken over, so that no byte is held twice */
export function openedBytes(parts: readonly Uint8Array[]): OpenedBytes {
  const left = [...parts];
  return {
    take(bytes) {
      const taken: Uint8Array[] = [];
      let missing = bytes;
      while (missing > 0) {
        const part = left.shift();
        if (part === undefined) throw refused(`${bytes} more bytes`, `${bytes - missing}`);
        taken.push(part.subarray(0, missing));
        if (part.length > missing) left.unshift(part.subarray(missing));
        missing -= taken.at(-1)!.length;
      }
      return taken.length === 1 ? taken[0]! : concatBytes(...taken);
    },
    end() {
      const rest = left.reduce((sum, part) => sum + part.length, 0);
      if (rest > 0) throw refused('no more bytes', `${rest}`);
    },
  };
}

function refused(expected: string, got: string): Rejection {
  return new Rejection('PIECES_SIZE', { expected, got, rule: 'attestation/SPEC.md, pieces' });
}
