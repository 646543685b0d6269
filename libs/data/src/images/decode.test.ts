/** PNG whose transparent pixels are told by a colour, which a decoder may leave out. */
import { crc32, deflateSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { decodePicture } from './decode.js';

function chunk(type: string, data: readonly number[] | Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type), Buffer.from(data)]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

/** Of one row. @param transparent the samples of the colour that is transparent, 16 bits each */
function png(width: number, [depth, type]: readonly [number, number], row: readonly number[], transparent: number[]) {
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', [0, 0, 0, width, 0, 0, 0, 1, depth, type, 0, 0, 0]),
    chunk('gAMA', [0, 0, 177, 143]),
    chunk('tRNS', transparent),
    chunk('IDAT', deflateSync(Buffer.from([0, ...row]))),
    chunk('IEND', []),
  ]);
}

const pixelsOf = (bytes: Uint8Array): number[] => [...decodePicture(bytes, { file: 'x.png' }).rgba];

it.each([
  ['grey of 8 bits', png(2, [8, 0], [200, 90], [0, 200]), [200, 200, 200, 0, 90, 90, 90, 255]],
  ['grey of 1 bit', png(2, [1, 0], [0b10000000], [0, 1]), [255, 255, 255, 0, 0, 0, 0, 255]],
  ['grey of 16 bits', png(2, [16, 0], [2, 3, 255, 255], [2, 3]), [2, 2, 2, 0, 255, 255, 255, 255]],
  ['colour of 8 bits', png(2, [8, 2], [9, 8, 7, 1, 2, 3], [0, 9, 0, 8, 0, 7]), [9, 8, 7, 0, 1, 2, 3, 255]],
])('reads transparent pixels as they are stored: %s', (_, bytes, pixels) => {
  expect(pixelsOf(bytes)).toEqual(pixels);
});
