/** Door of the Groth16 prover: circuits, keys and proofs by the optional packages circom2 and snarkjs (SPEC.md). */
export { proveGroth16Segment, type Groth16Proof } from './prover/prove.js';
export type { ToolLimits } from './toolchain/process.js';
export { openCircuit, openKey, type Circuit, type ProvingKey } from './toolchain/store.js';
