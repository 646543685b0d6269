/** Door of the Groth16 prover: circuits, keys and proofs by the optional packages circom2 and snarkjs (SPEC.md). */
export { proveGroth16Segment, type Groth16Proof, type SegmentWitness, type WeightOpening } from './prover/prove.js';
export type { ToolLimits } from './toolchain/process.js';
export {
  openCircuit,
  openKey,
  type Circuit,
  type KeySource,
  type PinnedFile,
  type ProvingKey,
} from './toolchain/store.js';
