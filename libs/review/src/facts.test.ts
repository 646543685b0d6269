/** What one proof covers follows from the profile that the spec names and the superblock of its manifest. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { encodeJobSpec, parseJobSpec } from '#attestation/records';
import { fixturePath } from '#test/fixture';
import { factsOf, reviewBundle } from './index.js';

it('says how many superblocks one proof covers, where it covers several', async () => {
  const bytes = new Uint8Array(readFileSync(fixturePath('bundles/version-4-proved.cbor')));
  const verdict = await reviewBundle({ bundle: bytes });
  const spec = parseJobSpec(verdict.bundle.spec);
  const { superblock } = JSON.parse(Buffer.from(spec.manifest).toString()) as { superblock: number };
  const under = (profile: string): Uint8Array => encodeJobSpec({ ...spec, proving: { ...spec.proving!, profile } });
  const covered = [
    verdict.bundle.spec,
    under('unit64'),
    under('unit1024'),
    encodeJobSpec({ ...spec, manifest: Buffer.from('{"fxt":9}') }),
  ].map((changed) => factsOf({ ...verdict, bundle: { ...verdict.bundle, spec: changed } }).proofOf);
  const of = (steps: number) => ({ superblocks: steps / superblock, steps: superblock });
  expect(covered).toEqual([null, of(64), of(1024), null]);
});
