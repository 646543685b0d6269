/** A table of any size on disk, written in bounded memory: readings of twelve sensors at 40 sites while somebody moves. */
import { open } from 'node:fs/promises';

export const kinds = ['still', 'walk', 'run', 'fall'] as const;

const sensors = 12;
const sites = 40;
const chunkCharacters = 1 << 20;

/** @returns rows, the same of the same size */
export async function writeLargeTable(path: string, bytesMin: number): Promise<number> {
  let word = 1;
  const draw = (): number => (word = (Math.imul(word, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
  const below = (n: number): number => Math.floor(draw() * n);
  const row = (time: number): string => {
    const kind = below(kinds.length);
    const reading = (_: unknown, k: number): string =>
      draw() < 0.01 ? '' : ((draw() - 0.5) * 20 + kind * (k % 3)).toFixed(4);
    const readings = Array.from({ length: sensors }, reading);
    return `${[time, ...readings, `site ${below(sites)}`, kinds[kind]!].join(',')}\n`;
  };
  const names = Array.from({ length: sensors }, (_, k) => `sensor ${k + 1}`);
  const file = await open(path, 'w');
  try {
    let text = `${['time', ...names, 'site', 'kind'].join(',')}\n`;
    let rows = 0;
    for (let bytes = 0; bytes < bytesMin;) {
      while (text.length < chunkCharacters && bytes + text.length < bytesMin) text += row(rows++);
      bytes += (await file.write(text)).bytesWritten;
      text = '';
    }
    return rows;
  } finally {
    await file.close();
  }
}
