/** Where a job starts: the weights that its manifest's seed draws or that it names, computed anew. */
import { Rejection, to0x } from '#attestation/base';
import type { JobSpec } from '#attestation/records';
import {
  decodeTensors,
  drawnParameters,
  initialWeights,
  isNet,
  parameterShapes,
  parseJobManifestText,
  startRoot,
  startState,
} from '#libs/step';
import type { JobManifest, NetManifest, Weights } from '#libs/step';
import { keccakMany, keccakParts } from '#libs/zk/commit';
import { commitmentsOfJob } from '#libs/zk/groth16/commitment';

/**
 * weightsDigest of the weights that the manifest's seed gives, or of those that it names.
 *
 * @param start canonical bytes of all parameters, where the manifest names some
 * @throws Rejection START_MISSING where it names weights and they are not given; START_ROOT, WEIGHTS_*
 */
export function startBorder({ spec }: { readonly spec: JobSpec }, start: Uint8Array | null = null): Uint8Array {
  const manifest = parseJobManifestText(spec.manifest);
  return commitmentsOfJob(spec, manifest, null).border(0, startWeights(manifest, start));
}

/**
 * The state before step 0.
 *
 * @param start canonical bytes of all parameters; null where the seed draws them
 * @throws Rejection WEIGHTS_LENGTH, WEIGHTS_RANGE, START_ROOT; START_MISSING where the manifest names weights and there are none
 */
export function startWeights(manifest: JobManifest, start: Uint8Array | null): Weights {
  if (!isNet(manifest) || manifest.start.kind === 'seed') return initialWeights(manifest, keccakMany);
  return startState(manifest, startParameters(manifest, start));
}

/** All parameters before step 0, frozen ones too. @param start as of `startWeights` @throws as `startWeights` */
export function startParameters(manifest: NetManifest, start: Uint8Array | null): Weights {
  if (manifest.start.kind === 'seed') return drawnParameters(manifest, keccakMany);
  const { root } = manifest.start;
  if (start === null) throw refused('START_MISSING', `start weights with root ${root}`, 'none');
  const parameters = decodeTensors(parameterShapes(manifest), start);
  const found = to0x(startRoot(manifest, parameters, keccakParts));
  if (found !== root) throw refused('START_ROOT', `start weights with root ${root}`, found);
  return parameters;
}

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, {
    ...{ expected, got, rule: 'libs/step/SPEC.md §25' },
    action: 'give the start weights that the manifest names',
  });
}
