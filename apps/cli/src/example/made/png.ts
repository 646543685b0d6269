/** A grey picture as PNG. */
import { PNG } from 'pngjs';

const grey = 0;

/** @param pixels row by row, `side` in each */
export function greyPng(pixels: Uint8Array, side: number): Uint8Array {
  const png = new PNG({ width: side, height: pixels.length / side });
  png.data = Buffer.from(pixels);
  return PNG.sync.write(png, { colorType: grey, inputColorType: grey, inputHasAlpha: false });
}
