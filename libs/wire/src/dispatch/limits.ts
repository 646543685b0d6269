/** Maxima of what travels in dispatch messages and REST bodies, in bytes unless the name says otherwise. */

export const specBytesMax = 64 * 1024;
export const policyBytesMax = 256 * 1024;
export const evidenceBytesMax = 1024 * 1024;
/** What a verdict rested on: certificates, revocation lists, OCSP answers, manifests, collateral, advisories. */
export const endorsementsBytesMax = 4 * 1024 * 1024;
/** Attestors that the terms of one job may name, contracts/SPEC.md §5. */
export const attestorsMax = 16;
/** An evaluation statement, and those of one job. */
export const evaluationBytesMax = 2048;
export const evaluationsMax = 4096;
/** Edges of a net that a report of progress tells of. */
export const edgeFiguresMax = 64;
export const receiptBytesMax = 4096;
/** A step statement, or the round statement of a data-parallel job. */
export const statementBytesMax = 256;
export const sealBytesMax = 128 * 1024;
/** The statement document of one proof, characters. */
export const proofDocumentCharactersMax = 64 * 1024;
export const attestationResultBytesMax = 512 * 1024;
/** One stored ciphertext: a checkpoint, a result or a shard. */
export const blobBytesMax = 64 * 1024 * 1024;
/** A checkpoint or a result in sealed pieces, which is uploaded in parts: two states, and what stands around them. */
export const largeBlobBytesMax = 1056 * 1024 * 1024;
/** One part of the weights that a job starts from; a frame of the enclave's channel has room for it. */
export const startPartBytesMax = 12 * 1024 * 1024;
export const startPartsMax = 64;
/** What a key broker logs of one release: its entries, their openings, their proofs (characters), and how many. */
export const logEntryBytesMax = 4096;
export const logOpeningBytesMax = 2048;
export const logProofCharactersMax = 16 * 1024;
export const loggedEntriesMax = 4;
/** Segments of one job, contracts/SPEC.md §5. */
export const segmentsMax = 4000;
/** Workers of a data-parallel job. */
export const workersMax = 64;
export const longPollMillisecondsMax = 10_000;
/** One framed dispatch message, characters. */
export const frameCharactersMax = 8 * 1024 * 1024;
/** A connection of dispatch on which no key was accepted for so long is closed. */
export const unauthenticatedSecondsMax = 10;
/** Such connections, all together. */
export const unauthenticatedConnectionsMax = 4096;
/** What is buffered of their frames, characters, all together. */
export const unauthenticatedCharactersMax = 64 * 1024 * 1024;
