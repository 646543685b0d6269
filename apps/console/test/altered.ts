/**
 * Altered copies of a file in the page: of each it says what `report make` writes, check for check; never the untouched
 * verdict but where that names the place as not checked; always a reason.
 */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { differencesOf } from '#libs/review';
import { disagreements } from './agreement.js';
import { reportByCommand, reportHere } from './command-line.js';
import type { Sample } from './corpus.js';
import { presentOfTest, seenOfFlip } from './flips.js';
import { judgedHere } from './judged.js';

/** @returns where page, command line and judge part; nothing where they agree */
export async function partings(page: Page, sample: Sample, at = presentOfTest): Promise<readonly string[]> {
  const found = await disagreements(page, sample);
  if (sample.heading === 'not-a-bundle') return found;
  const written = await reportByCommand(sample, at);
  return [...found, ...differencesOf(written, await reportHere(sample, at, written)).map((one) => `command: ${one}`)];
}

interface AlteredCopy {
  readonly what: string;
  readonly bytes: Uint8Array;
  /** Of the flipped bit; 0 where a part was altered. */
  readonly place?: number;
}

/** @returns how many copies came out under which heading, in words */
export async function expectAltered(page: Page, sample: Sample, copies: readonly AlteredCopy[]): Promise<string> {
  const { at = presentOfTest, beside } = sample;
  const [untouched] = await judgedHere(sample, at);
  const counts = new Map<string, number>();
  for (const { what, bytes, place = 0 } of copies) {
    const { heading, code } = await seenOfFlip(sample, untouched, { bytes, place }).catch((error: unknown) => {
      throw new Error(what, { cause: error });
    });
    expect(code, `${what}: no reason`).not.toBeNull();
    const altered = { name: 'altered', bytes, heading, code: code!, ...(beside && { beside }) };
    expect([what, await partings(page, altered, at)]).toEqual([what, []]);
    counts.set(heading, (counts.get(heading) ?? 0) + 1);
  }
  return `${copies.length}: ${[...counts].map(([one, count]) => `${count} ${one}`).join(', ')}`;
}
