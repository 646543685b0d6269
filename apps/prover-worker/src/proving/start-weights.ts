/** Weights at the first step of what is proved: given, or trained to from the seed. */
import { equalBytes, fromHex, Rejection, to0x, toHex } from '#attestation/base';
import { decodeWeights, stateDigest, type Manifest, type Weights } from '#libs/step';
import { readLimited } from './files.js';
import type { ProveRequest } from './request.js';

/** @throws Rejection WEIGHTS_START when the given weights are not those that training reaches */
export async function startWeights(
  m: Manifest,
  { from, weights: file, stateDigest: claimed }: ProveRequest,
  train: () => Weights,
): Promise<Weights> {
  const given = file === undefined ? undefined : decodeWeights(m, await readLimited(file));
  const weights = given !== undefined && claimed !== undefined ? given : train();
  const expected = claimed === undefined ? stateDigest(m, weights) : fromHex(claimed);
  const got = stateDigest(m, given ?? weights);
  if (equalBytes(expected, got)) return weights;
  throw new Rejection('WEIGHTS_START', {
    expected: `weights of step ${from} with state digest 0x${toHex(expected)}`,
    got: to0x(got),
    rule: 'libs/step/SPEC.md §11',
    action: 'give the weights or the digest of the step named by --from',
  });
}
