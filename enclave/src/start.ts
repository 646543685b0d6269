/** The weights that a job starts from: drawn from its seed, or those whose root its manifest names (enclave/SPEC.md, start). */
import { concatBytes, Rejection, to0x } from '#attestation/base';
import {
  decodeTensors,
  drawnParameters,
  frozenOf,
  initialWeights,
  isNet,
  parameterBytes,
  parameterShapes,
  startRoot,
  startState,
  type JobManifest,
  type NetManifest,
  type Weights,
} from '#libs/step';
import { keccakMany, keccakParts } from '#libs/zk/commit';

interface Start {
  /** What is trained, and what the optimizer keeps. */
  readonly state: Weights;
  /** Parameters that stay as they are. */
  readonly frozen: Weights;
}

export function startKindOf(manifest: JobManifest): 'seed' | 'weights' {
  return isNet(manifest) ? manifest.start.kind : 'seed';
}

/**
 * @param parts canonical bytes of all parameters in layer order, in parts; none where the seed draws them
 * @throws Rejection START_LENGTH, START_ROOT, WEIGHTS_RANGE
 */
export function startOfJob(manifest: JobManifest, parts: readonly Uint8Array[]): Start {
  if (!isNet(manifest)) return { state: initialWeights(manifest, keccakMany), frozen: [] };
  const { start } = manifest;
  const parameters =
    start.kind === 'seed' ? drawnParameters(manifest, keccakMany) : readParameters(manifest, concatBytes(...parts));
  if (start.kind === 'weights') checkRoot(manifest, parameters, start.root);
  return { state: startState(manifest, parameters), frozen: frozenOf(manifest, parameters) };
}

/** Canonical bytes of all parameters. */
export function startBytesOf(manifest: JobManifest): number {
  return isNet(manifest) ? parameterBytes(manifest) : 0;
}

function readParameters(manifest: NetManifest, bytes: Uint8Array): Weights {
  const expected = parameterBytes(manifest);
  if (bytes.length !== expected) throw refused('START_LENGTH', `${expected} bytes of start weights`, `${bytes.length}`);
  return decodeTensors(parameterShapes(manifest), bytes);
}

function checkRoot(manifest: NetManifest, parameters: Weights, root: string): void {
  const found = startRoot(manifest, parameters, keccakParts);
  if (to0x(found) === root) return;
  throw refused('START_ROOT', `start weights with root ${root}`, to0x(found));
}

function refused(code: string, expected: string, got: string): Rejection {
  return new Rejection(code, {
    ...{ expected, got, rule: 'libs/step/SPEC.md §25' },
    action: 'send the start weights that the manifest names',
  });
}
