/** Pixels of a picture at another size: a triangle filter that widens when it makes smaller, in float64. */

interface Tap {
  readonly first: number;
  readonly weights: readonly number[];
}

/**
 * @param pixels height·width·channels bytes, row by row
 * @returns toHeight·toWidth·channels bytes
 */
export function resize(
  pixels: Uint8Array,
  [height, width]: readonly [number, number],
  [toHeight, toWidth]: readonly [number, number],
  channels: number,
): Uint8Array {
  if (height === toHeight && width === toWidth) return pixels;
  const across = taps(width, toWidth);
  const wide = new Float64Array(height * toWidth * channels);
  for (let y = 0; y < height; y++) {
    for (const [x, { first, weights }] of across.entries()) {
      for (let c = 0; c < channels; c++) {
        let sum = 0;
        for (let k = 0; k < weights.length; k++) sum += weights[k]! * pixels[(y * width + first + k) * channels + c]!;
        wide[(y * toWidth + x) * channels + c] = sum;
      }
    }
  }
  const out = new Uint8Array(toHeight * toWidth * channels);
  const row = toWidth * channels;
  for (const [y, { first, weights }] of taps(height, toHeight).entries()) {
    for (let i = 0; i < row; i++) {
      let sum = 0;
      for (let k = 0; k < weights.length; k++) sum += weights[k]! * wide[(first + k) * row + i]!;
      out[y * row + i] = Math.min(255, Math.max(0, Math.floor(sum + 0.5)));
    }
  }
  return out;
}

/** For each place of the result the places it is made of; weights sum to 1. */
function taps(from: number, to: number): readonly Tap[] {
  const ratio = from / to;
  const reach = Math.max(1, ratio);
  return Array.from({ length: to }, (_, index) => {
    const center = (index + 0.5) * ratio;
    const first = Math.max(0, Math.floor(center - reach + 0.5));
    const end = Math.min(from, Math.max(first + 1, Math.floor(center + reach + 0.5)));
    const raw = Array.from({ length: end - first }, (__, k) =>
      Math.max(0, 1 - Math.abs((first + k + 0.5 - center) / reach)),
    );
    const sum = raw.reduce((total, weight) => total + weight, 0);
    return { first, weights: raw.map((weight) => (sum === 0 ? 1 / raw.length : weight / sum)) };
  });
}
