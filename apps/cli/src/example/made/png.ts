/** A grey picture as PNG (ISO/IEC 15948), unfiltered. */
import { crc32, deflateSync } from 'node:zlib';
import { concatBytes, utf8 } from '#attestation/base';

const signature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);

/** @param pixels row by row, `side` in each */
export function greyPng(pixels: Uint8Array, side: number): Uint8Array {
  const head = concatBytes(word(side), word(pixels.length / side), Uint8Array.of(8, 0, 0, 0, 0));
  const lines = new Uint8Array(pixels.length + pixels.length / side);
  for (let y = 0; y * side < pixels.length; y++)
    lines.set(pixels.subarray(y * side, (y + 1) * side), y * (side + 1) + 1);
  const data = new Uint8Array(deflateSync(lines));
  return concatBytes(signature, chunk('IHDR', head), chunk('IDAT', data), chunk('IEND', new Uint8Array()));
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const body = concatBytes(utf8(type), data);
  return concatBytes(word(data.length), body, word(crc32(body)));
}

function word(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
}
