/** PNG and JPEG to pixels, by decoders without native code; sizes are read and bounded before they run. */
import jpeg from 'jpeg-js';
import { PNG } from 'pngjs';
import { refuseData, type Place } from '../errors.js';
import * as limits from '../limits.js';

export interface Picture {
  readonly width: number;
  readonly height: number;
  /** Red, green, blue, alpha of each pixel, row by row. */
  readonly rgba: Uint8Array;
  /** Stored as shades of grey. */
  readonly isGrey: boolean;
  /** Stored in 16 bits a sample, of which the nearest of 8 is taken. */
  readonly isDeep: boolean;
}

const jpegMemoryMegabytes = 512;

/** @throws DataError DATA_IMAGE, DATA_LIMIT */
export function decodePicture(bytes: Uint8Array, place: Place): Picture {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const kind = kindOf(view);
  const size = kind === 'png' ? pngSize(view) : kind === 'jpeg' ? jpegSize(view) : null;
  if (kind === null || size === null) return refusePicture(place, 'other bytes');
  if (size.width < 1 || size.height < 1 || size.width * size.height > limits.pixelsMax) {
    refuseData('DATA_LIMIT', place, {
      expected: `1 to ${limits.pixelsMax} pixels`,
      got: `${size.width}×${size.height}`,
      action: 'make the picture smaller',
    });
  }
  if (size.bytes > bytes.length * limits.deflateRatioMax) return refusePicture(place, `${bytes.length} bytes`);
  let decoded: { width: number; height: number; data: Uint8Array };
  try {
    decoded =
      kind === 'png'
        ? PNG.sync.read(view)
        : jpeg.decode(view, {
            ...{ useTArray: true, formatAsRGBA: true },
            ...{ maxResolutionInMP: limits.pixelsMax / 1e6, maxMemoryUsageInMB: jpegMemoryMegabytes },
          });
  } catch (error) {
    return refusePicture(place, error instanceof Error ? error.message : String(error));
  }
  const { width, height, data } = decoded;
  if (width !== size.width || height !== size.height || data.length !== 4 * width * height) {
    return refusePicture(place, `${data.length} bytes for ${width}×${height}`);
  }
  const rgba = new Uint8Array(data.buffer, data.byteOffset, data.length);
  if (kind === 'png') restoreTransparent(view, rgba);
  return {
    ...{ width, height, rgba },
    isGrey: size.isGrey,
    isDeep: size.isDeep,
  };
}

interface Size {
  readonly width: number;
  readonly height: number;
  readonly isGrey: boolean;
  readonly isDeep: boolean;
  /** That the pixels take once inflated, at least. */
  readonly bytes: number;
}

function kindOf(bytes: Buffer): 'png' | 'jpeg' | null {
  if (bytes.length > 33 && bytes.readUInt32BE(0) === 0x89504e47 && bytes.readUInt32BE(4) === 0x0d0a1a0a) return 'png';
  return bytes.length > 4 && bytes.readUInt16BE(0) === 0xffd8 ? 'jpeg' : null;
}

/** IHDR, which comes first (PNG, third edition, §11.2.1); colour types 0 and 4 are grey. */
function pngSize(bytes: Buffer): Size | null {
  if (bytes.toString('latin1', 12, 16) !== 'IHDR') return null;
  const [width, height, type] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20), bytes[25]!];
  const samples =
    new Map([
      [2, 3],
      [4, 2],
      [6, 4],
    ]).get(type) ?? 1;
  const depth = bytes[24]!;
  const isGrey = (type & 2) === 0;
  return { width, height, isGrey, isDeep: depth === 16, bytes: (width * height * samples * depth) / 8 };
}

/**
 * Grey or colour samples that stand for a transparent pixel (PNG, third edition, §11.3.2.1) are samples as all others: the
 * decoder makes them black, and of these pictures no other pixel has an alpha of 0.
 */
function restoreTransparent(bytes: Buffer, rgba: Uint8Array): void {
  const [depth, type] = [bytes[24]!, bytes[25]!];
  const at = type === 0 || type === 2 ? chunkAt(bytes, 'tRNS') : null;
  const samples = type === 0 ? [0, 0, 0] : [0, 2, 4];
  if (at === null || at + samples[2]! + 2 > bytes.length) return;
  const stored = samples.map((offset) => bytes.readUInt16BE(at + offset));
  const colour = stored.map((sample) => Math.floor((sample * 255) / (2 ** depth - 1) + 0.5));
  for (let i = 0; i < rgba.length; i += 4) if (rgba[i + 3] === 0) rgba.set(colour, i);
}

/** Where the data of a chunk before the pixels begin. */
function chunkAt(bytes: Buffer, name: string): number | null {
  for (let at = 8; at + 8 <= bytes.length; at += 12 + bytes.readUInt32BE(at)) {
    const type = bytes.toString('latin1', at + 4, at + 8);
    if (type === name) return at + 8;
    if (type === 'IDAT') return null;
  }
  return null;
}

/** The first frame header (ITU-T T.81, B.2.2). */
function jpegSize(bytes: Buffer): Size | null {
  for (let at = 2; at + 10 <= bytes.length;) {
    if (bytes[at] !== 0xff) return null;
    const marker = bytes[at + 1]!;
    if (marker === 0xff) at += 1;
    else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      const [height, width] = [bytes.readUInt16BE(at + 5), bytes.readUInt16BE(at + 7)];
      return { height, width, isGrey: bytes[at + 9] === 1, isDeep: false, bytes: 0 };
    } else at += 2 + bytes.readUInt16BE(at + 2);
  }
  return null;
}

function refusePicture(place: Place, got: string): never {
  return refuseData('DATA_IMAGE', place, {
    expected: 'a whole PNG or JPEG',
    got,
    action: 'save the picture again, or take it out of the folder',
  });
}
