/** Bundles altered in every part, one by one, of every kind: what the page must say of each is what `expectAltered` asks. */
import { describe, expect, it } from 'vitest';
import { hasBrowser } from '#test/browser';
import { hasGroth16Tools } from '#test/groth16-tools';
import { expectAltered } from './altered.js';
import { openedReviewer } from './opened.js';
import { alterationsOf } from './parts.js';

/** Every so many of them; `VERITRAIN_ALTERATIONS=1` takes an hour. */
const apart = Number(process.env['VERITRAIN_ALTERATIONS'] ?? 24);
const kinds = [
  ...['good', 'logged', 'rounds', 'proved', 'start-given', 'version-1', 'version-3', 'tee-and-proof', 'sampled'],
  ...(hasGroth16Tools ? ['groth16', 'groth16-own-key'] : []),
];

/** A log may be left out, as of a bundle that was never logged, and its watch key kept back: attestation/LOG.md §4. */
const mayBeMissing: readonly string[] = ['log: left out', 'log.watchKey: null'];

describe.skipIf(!hasBrowser)('a bundle with one part altered', () => {
  const reviewer = openedReviewer();

  it.each(kinds)(
    'that was %s',
    async (name) => {
      const sample = reviewer.sample(name);
      const { page, complaints, close } = await reviewer.tab();
      const all = alterationsOf(sample.bytes).filter(
        ({ what }, at) => at % apart === 0 && !mayBeMissing.includes(what),
      );
      console.warn(`${name}, parts: ${await expectAltered(page, sample, all)}`);
      expect(complaints).toEqual([]);
      await close();
    },
    3_600_000,
  );
});
