import { expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { encodeBundle } from '#attestation/records';
import { canonicalManifest, drawnParameters, encodeWeights, startRoot } from '#libs/step';
import { evaluatedBundle } from '#test/evaluated-bundle';
import { tableNet } from '#test/net-job';
import { tinyJob } from '#test/tiny-job';
import { reviewBundle, startBorder } from './index.js';

it('names start weights that nobody gave among what no check covers, and those that were given not', async () => {
  const evaluate = { every: 4, metrics: ['accuracy', 'loss'] };
  const net = { steps: 20, evaluate } satisfies Parameters<typeof tableNet>[0];
  const drawn = drawnParameters(tableNet(net));
  const root = to0x(startRoot(tableNet(net), drawn));
  const manifest = canonicalManifest(tableNet({ ...net, start: { kind: 'weights', root } }));
  const { spec } = await tinyJob({ spec: { manifest } });
  const start = encodeWeights(drawn);
  const measured = { every: 4, accuracies: [700, 800, 900, 950, 940], manifest };
  const made = await evaluatedBundle({ ...measured, initialWeights: startBorder({ spec }, start) });
  const bundle = encodeBundle(made.bundle);
  const words = 'whether the start weights are those that the manifest names';
  expect((await reviewBundle({ bundle })).notChecked).toContain(words);
  expect((await reviewBundle({ bundle, start })).notChecked).not.toContain(words);
});
