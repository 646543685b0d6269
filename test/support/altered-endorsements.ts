/** Bundles with one endorsement otherwise: a bit of it flipped, or the same said in another spelling. */
import { encodeBundle, type EndorsementRecord, type EvidenceBundle } from '#attestation/records';

interface AlteredBundle {
  /** `endorsements.rims[0]: a space at 12`. */
  readonly what: string;
  readonly bytes: Uint8Array;
}

/** Beside these a manifest and Intel's collateral may have white space that says nothing. */
const joints = new Set([...'<>"{},:'].map((character) => character.charCodeAt(0)));

/** @param most  of each kind of change, of each piece, spread over it */
export function* alteredEndorsements(bundle: EvidenceBundle, most: number): Generator<AlteredBundle> {
  for (const [name, pieces] of Object.entries(bundle.endorsements) as [keyof EndorsementRecord, Uint8Array[]][]) {
    for (const [index, piece] of pieces.entries()) {
      for (const [what, changed] of changesOf(piece, name === 'rims' || name === 'intel', most)) {
        const endorsements = { ...bundle.endorsements, [name]: pieces.with(index, changed) };
        yield { what: `endorsements.${name}[${index}]: ${what}`, bytes: encodeBundle({ ...bundle, endorsements }) };
      }
    }
  }
}

function* changesOf(piece: Uint8Array, isText: boolean, most: number): Generator<readonly [string, Uint8Array]> {
  for (const [turn, at] of spread([...piece.keys()], most).entries()) {
    yield [
      `bit ${turn % 8} of byte ${at}`,
      piece.map((byte, index) => (index === at ? byte ^ (1 << (turn % 8)) : byte)),
    ];
  }
  if (!isText) return;
  const places = [0, ...[...piece.keys()].filter((at) => joints.has(piece[at]!)).map((at) => at + 1)];
  for (const [name, byte] of [['a space', 0x20] as const, ['a new line', 0x0a] as const]) {
    for (const at of spread(places, most)) {
      yield [`${name} at ${at}`, Uint8Array.of(...piece.subarray(0, at), byte, ...piece.subarray(at))];
    }
  }
}

function spread<T>(all: readonly T[], most: number): readonly T[] {
  if (all.length <= most) return all;
  return Array.from({ length: most }, (_, turn) => all[Math.floor((turn * all.length) / most)]!);
}
