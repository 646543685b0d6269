/** Injection tokens of things that are not classes. */
export const CONFIG = Symbol('Config');
export const LOGGER = Symbol('Logger');
export const METRICS = Symbol('Metrics');
export const ESCROW_READER = Symbol('EscrowReader');
export const PROOF_VERIFIER = Symbol('ProofVerifier');
export const EVIDENCE_APPRAISER = Symbol('EvidenceAppraiser');
