/** What everyone relies on stays small enough to be read: budgets.json, in lines of sources without tests. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { filesBelow, folders, textOf } from './tree.js';

interface Budgets {
  readonly fileLines: number;
  readonly folders: Readonly<Record<string, { readonly lines: number; readonly why?: string }>>;
}

const budgets = JSON.parse(readFileSync(new URL('./budgets.json', import.meta.url), 'utf8')) as Budgets;
const counted = /\.(ts|tsx|sol|mjs)$/;
/** Made by tools, or read by none but a compiler. */
const exempt = /\.test\.ts$|\.t\.sol$|\/(generated|types)\/|^libs\/zk\/src\/commit\/kernels\/assembly\//;

function linesOf(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}

/** @returns `folder: lines > budget`, or nothing when it keeps to it */
function over(folder: string, lines: number, budget: number): string[] {
  return lines > budget ? [`${folder}: ${lines} > ${budget}`] : [];
}

describe('line budgets', () => {
  it.each(Object.entries(budgets.folders))('%s', (folder, { lines }) => {
    const files = filesBelow(folder, counted).filter((path) => !exempt.test(path));
    expect(files.length).toBeGreaterThan(0);
    const total = files.reduce((sum, path) => sum + linesOf(textOf(path)), 0);
    expect(over(folder, total, lines)).toEqual([]);
  });

  it('every file', () => {
    const files = folders.flatMap((folder) => filesBelow(folder, counted)).filter((path) => !exempt.test(path));
    expect(files.flatMap((path) => over(path, linesOf(textOf(path)), budgets.fileLines))).toEqual([]);
  });

  it('catches one line too many', () => {
    expect(over('planted', linesOf('a\n'.repeat(401)), 400)).toEqual(['planted: 401 > 400']);
    expect(over('planted', linesOf('a\n'.repeat(400)), 400)).toEqual([]);
  });
});
