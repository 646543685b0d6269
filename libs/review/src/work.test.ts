/** What a run did follows from its shapes: counted by hand here, from the bundle there. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { encodeBundle, encodeJobSpec, parseJobSpec } from '#attestation/records';
import { fixturePath } from '#test/fixture';
import { tinyRoundBundle } from '#test/tiny-round-bundle';
import { reviewBundle, workOf } from './index.js';

const manifestOf = (spec: Uint8Array) =>
  JSON.parse(Buffer.from(parseJobSpec(spec).manifest).toString()) as {
    dims: number[];
    batch: number;
    steps: number;
  };

/** Counted layer by layer. */
const forward = (dims: number[]): bigint => dims.slice(1).reduce((sum, n, i) => sum + BigInt(n * dims[i]!), 0n);

it('counts rows, epochs and multiply-adds of a run', async () => {
  const verdict = await reviewBundle({ bundle: new Uint8Array(readFileSync(fixturePath('bundles/version-4.cbor'))) });
  const { spec } = verdict.bundle;
  const { dims, batch, steps } = manifestOf(spec);
  const { records } = parseJobSpec(spec).dataset;
  expect(workOf(verdict)).toEqual({
    ...{ steps, rowsUsed: steps * batch, rows: records, epochs: ((steps * batch) / records).toFixed(2) },
    forwardMultiplyAdds: String(BigInt(steps * batch) * forward(dims)),
  });
});

it('counts the steps of all workers of a data-parallel job', async () => {
  const { bundle } = await tinyRoundBundle();
  const { batch, steps } = manifestOf(bundle.spec);
  expect(workOf(await reviewBundle({ bundle: encodeBundle(bundle) }))).toMatchObject({
    steps,
    rowsUsed: steps * batch,
  });
});

it('says nothing of a manifest that it cannot read', async () => {
  const { bundle } = await tinyRoundBundle();
  const spec = encodeJobSpec({ ...parseJobSpec(bundle.spec), manifest: Buffer.from('{"fxt":9}') });
  expect(workOf({ bundle: { ...bundle, spec }, steps: 1 })).toBeNull();
});
