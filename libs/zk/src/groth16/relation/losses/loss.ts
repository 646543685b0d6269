/** What a loss adds to a circuit (libs/zk/src/groth16/SPEC.md §3, §8). */
import type { LayerScale, Manifest } from '#libs/step';

/** For one manifest. */
export interface LossCircuit {
  /** Lines of the template `Loss` before its rows, and the component of a row: from Y and the label to G. */
  readonly lines: readonly string[];
  readonly row: string;
  /** Constraints of one row, within 5 %. */
  readonly constraints: number;
}

/** @typeParam L what a manifest says of the loss */
export interface CircuitLoss<L> {
  /** Circom templates, in every circuit. */
  readonly templates: string;
  circuit(loss: L, manifest: Manifest, last: LayerScale): LossCircuit;
}
