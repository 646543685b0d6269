import { beforeAll, describe, expect, it } from 'vitest';
import { concatBytes, Rejection } from '#attestation/base';
import { pieceAssociatedData, pieceBytes, pieceRanges, piecesHeadBytes, sealedPiecesBytes } from '#attestation/records';
import { openedBytes } from './opened.js';
import { openPieces, sealPieces } from './pieces.js';

const key = new Uint8Array(32).fill(1);
const associatedData = new Uint8Array(55).fill(2);
const context = { key, associatedData };
const length = 2 * pieceBytes + 5;
const plaintext = new Uint8Array(length).map((_, at) => (at * 7) ^ (at >> 12));

async function sealed(bytes: Uint8Array, own = context, size = 3_000_000): Promise<Uint8Array[]> {
  const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    bytes.subarray(i * size, (i + 1) * size),
  );
  const made: Uint8Array[] = [];
  for await (const piece of sealPieces(parts, bytes.length, own)) made.push(piece);
  return made;
}

async function opened(pieces: readonly Uint8Array[], own = context, bytesMax = length): Promise<Uint8Array[]> {
  const opener = openPieces({ ...own, code: 'TEST_AUTHENTICATION', what: 'a test', bytesMax });
  const parts: Uint8Array[] = [];
  for (const piece of pieces) parts.push(await opener.take(piece));
  opener.end();
  return parts;
}

const codeOf = (pieces: readonly Uint8Array[], own?: typeof context, bytesMax?: number): Promise<string> =>
  opened(pieces, own, bytesMax).then(
    () => 'opens',
    (error: unknown) => (error instanceof Rejection ? error.code : String(error)),
  );

let pieces: Uint8Array[];
let again: Uint8Array[];
let short: Uint8Array[];
beforeAll(async () => {
  [pieces, again, short] = [await sealed(plaintext), await sealed(plaintext), await sealed(Uint8Array.of(1, 2, 3))];
});

describe('sealed pieces', () => {
  it('open as they were sealed, each cut where whoever carries them expects it', async () => {
    expect(Buffer.concat(await opened(pieces)).equals(plaintext)).toBe(true);
    const whole = Buffer.concat(pieces);
    expect(whole).toHaveLength(sealedPiecesBytes(length));
    expect(pieceRanges(whole.length).map(({ from, to }) => to - from)).toEqual(pieces.map((piece) => piece.length));
    expect(pieceRanges(short[0]!.length)).toEqual([{ from: 0, to: short[0]!.length }]);
    expect(await codeOf(short)).toBe('opens');
  });

  it('of whole pieces alone have no empty one behind them', async () => {
    const two = await sealed(plaintext.subarray(0, 2 * pieceBytes));
    expect(two.map((piece) => piece.length)).toEqual([piecesHeadBytes + pieceBytes + 16, pieceBytes + 16]);
  });

  it('never repeat a ciphertext', () => {
    expect(again[1]).not.toEqual(pieces[1]);
  });

  const authentication = 'TEST_AUTHENTICATION';
  it.each<[string, string, () => Uint8Array[]]>([
    ['the last one left out', 'PIECES_MISSING', () => pieces.slice(0, 2)],
    ['the first one left out', 'PIECES_SIZE', () => pieces.slice(1)],
    ['one in the middle left out', authentication, () => [pieces[0]!, pieces[2]!]],
    ['none', 'PIECES_MISSING', () => []],
    ['two in each other’s place', authentication, () => [pieces[0]!, pieces[2]!, pieces[1]!]],
    ['one said twice', authentication, () => [pieces[0]!, pieces[1]!, pieces[1]!, pieces[2]!]],
    ['the last one said twice', 'PIECES_ORDER', () => [...pieces, pieces[2]!]],
    ['one of an older sealing', authentication, () => pieces.with(1, again[1]!)],
    ['the last one of an older sealing', authentication, () => pieces.with(2, again[2]!)],
    ['the head of another sealing', authentication, () => pieces.with(0, join(again[0]!, pieces[0]!))],
    ['the head of a shorter one', authentication, () => [join(short[0]!, pieces[0]!)]],
    ['half a piece', authentication, () => pieces.with(1, pieces[1]!.subarray(0, 4096))],
    ['half a head', 'PIECES_SIZE', () => [pieces[0]!.subarray(0, piecesHeadBytes - 1)]],
    ['a length beyond all numbers', 'PIECES_SIZE', () => pieces.with(0, pieces[0]!.slice().fill(255, 32, 40))],
    ['no length', 'PIECES_SIZE', () => pieces.with(0, pieces[0]!.slice().fill(0, 32, 40))],
  ])('with %s are refused: %s', async (_, code, forge) => {
    expect(await codeOf(forge())).toBe(code);
  });

  it('with any byte of head, ciphertext or tag flipped are refused', async () => {
    for (const at of [0, 31, 39, piecesHeadBytes, 100_000, pieces[0]!.length - 1]) {
      const flipped = pieces[0]!.slice();
      flipped[at]! ^= 1;
      expect(await codeOf(pieces.with(0, flipped))).toMatch(/^(TEST_AUTHENTICATION|PIECES_SIZE)$/);
    }
  });

  it('of another job, of another kind or under another key are refused', async () => {
    const other = new Uint8Array(55).fill(3);
    expect(await codeOf(pieces, { ...context, associatedData: other })).toBe(authentication);
    expect(await codeOf(pieces, { ...context, key: other.subarray(0, 32) })).toBe(authentication);
    expect(await codeOf(pieces.with(1, (await sealed(plaintext, { ...context, associatedData: other }))[1]!))).toBe(
      authentication,
    );
  });

  it('larger than they may be are refused at their head', async () => {
    expect(await codeOf(pieces, context, length - 1)).toBe('PIECES_SIZE');
  });

  it('that one piece was refused of go on with the right one', async () => {
    const opener = openPieces({ ...context, code: authentication, what: 'a test', bytesMax: length });
    await opener.take(pieces[0]!);
    await expect(opener.take(pieces[2]!)).rejects.toMatchObject({ code: authentication });
    expect(await opener.take(pieces[1]!)).toHaveLength(pieceBytes);
    expect(() => opener.end()).toThrow(/PIECES_MISSING/);
  });

  it('say where and how many they are in what authenticates', () => {
    const bound = [0, 1].map((index) => pieceAssociatedData(index, length, associatedData));
    expect(bound[0]).not.toEqual(bound[1]);
    expect(pieceAssociatedData(0, length + 1, associatedData)).not.toEqual(bound[0]);
  });

  function join(head: Uint8Array, body: Uint8Array): Uint8Array {
    return concatBytes(head.subarray(0, piecesHeadBytes), body.subarray(piecesHeadBytes));
  }
});

describe('opened bytes', () => {
  it('are read across pieces, and no further', () => {
    const bytes = openedBytes([Uint8Array.of(1, 2, 3), Uint8Array.of(4), Uint8Array.of(5, 6)]);
    expect([bytes.take(2), bytes.take(3)]).toEqual([Uint8Array.of(1, 2), Uint8Array.of(3, 4, 5)]);
    expect(() => bytes.end()).toThrow(/PIECES_SIZE/);
    expect(bytes.take(0)).toHaveLength(0);
    expect(() => bytes.take(2)).toThrow(/PIECES_SIZE/);
    bytes.end();
  });
});
