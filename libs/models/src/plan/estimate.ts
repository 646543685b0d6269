/** What a job will ask of a machine, from its manifest alone: rough, and said to be. */
import {
  isLarge,
  netMultiplyAdds,
  netOf,
  parameterShapes,
  stateShapes,
  trainingSeconds,
  type NetManifest,
} from '#libs/step';

interface Estimate {
  readonly parameters: number;
  readonly trainedParameters: number;
  /** Multiply-adds of one record, forward. */
  readonly multiplyAdds: number;
  /** Bytes of a training process beside its records. */
  readonly memoryBytes: number;
  /** Seconds of all steps on one thread of a common processor, and on a slow machine: windows of a job allow for this. */
  readonly seconds: number;
  readonly slowSeconds: number;
}

/** Multiply-adds a second of one thread; measured on one with AVX-512 were 10^10 to 2·10^10. */
const usualSpeed = 1e10;
/** Copies that a step holds of an edge's values and of a number of the state, and what is there besides. */
interface Copies {
  readonly edges: number;
  readonly state: number;
  readonly baseBytes: number;
}

/** Values, errors and what lies between, in an arena that keeps them. */
const ofSmall: Copies = { edges: 6, state: 4, baseBytes: 200e6 };
/**
 * A large net has no arena, and its state outweighs its edges. Measured of all processes of `veritrain train`
 * (`npm run bench -- ten-million`): 1,460 MB where this says 1,408, and 1,656 MB where it says 1,692.
 */
const ofLarge: Copies = { edges: 0.3, state: 4.6, baseBytes: 300e6 };

export function estimate(m: NetManifest): Estimate {
  const size = (dims: readonly number[]): number => dims.reduce((product, side) => product * side, 1);
  const shapes = parameterShapes(m);
  const parameters = shapes.reduce((sum, { dims }) => sum + size(dims), 0);
  const state = stateShapes(m).reduce((sum, { dims }) => sum + size(dims), 0);
  const edges = netOf(m).layers.reduce((sum, { output }) => sum + size(output.shape), 0);
  const copies = isLarge(m) ? ofLarge : ofSmall;
  // Of a large net what is not trained lies in the runtime once, which the base has room for.
  const held = isLarge(m) ? state : state + parameters;
  return {
    parameters,
    trainedParameters: shapes.reduce((sum, { dims, isFrozen }) => sum + (isFrozen ? 0 : size(dims)), 0),
    multiplyAdds: netMultiplyAdds(m),
    memoryBytes: Math.ceil(copies.baseBytes + 8 * (copies.edges * m.batch * edges + copies.state * held)),
    ...{ seconds: trainingSeconds(m, 0, usualSpeed), slowSeconds: trainingSeconds(m, 0) },
  };
}
