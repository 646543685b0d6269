/** Drawn shapes under noise as PNG files, a folder for each kind of shape. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { greyPng } from './png.js';
import { randomOf, type Random } from './random.js';

const side = 20;
const testShare = 5;
/** How bright the ground is at most, and how much brighter a shape: the noise hides part of it. */
const [ground, contrast] = [90, 90];

/** Whether a place belongs to a shape; x and y from its middle, in shares of its size. */
const kinds: Readonly<Record<string, (x: number, y: number) => boolean>> = {
  cross: (x, y) => Math.max(Math.abs(x), Math.abs(y)) <= 1 && Math.min(Math.abs(x), Math.abs(y)) <= 0.3,
  disk: (x, y) => x * x + y * y <= 1,
  square: (x, y) => Math.max(Math.abs(x), Math.abs(y)) <= 0.85,
  triangle: (x, y) => y <= 0.8 && Math.abs(x) <= (y + 1) / 1.8,
};

export function makeShapes(folder: string, rows: number): void {
  const random = randomOf('shapes');
  for (const [set, count] of [
    ['train', rows],
    ['test', Math.ceil(rows / testShare)],
  ] as const) {
    for (const kind of Object.keys(kinds)) mkdirSync(join(folder, set, kind), { recursive: true });
    for (let index = 0; index < count; index++) {
      const kind = random.of(Object.keys(kinds));
      writeFileSync(
        join(folder, set, kind, `${String(index).padStart(5, '0')}.png`),
        greyPng(drawn(kind, random), side),
      );
    }
  }
}

function drawn(kind: string, random: Random): Uint8Array {
  const size = random.between(4, 7);
  const [left, top] = [random.between(size, side - size), random.between(size, side - size)];
  return Uint8Array.from({ length: side * side }, (_, at) => {
    const [x, y] = [(at % side) + 0.5 - left, Math.floor(at / side) + 0.5 - top];
    return random.below(ground) + (kinds[kind]!(x / size, y / size) ? contrast : 0);
  });
}
