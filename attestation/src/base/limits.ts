/** Maxima of every inbound byte string, checked before anything is parsed. Bytes unless the name says otherwise. */

/** One evidence bundle file: evidence, endorsements, policies, receipts, statements. */
export const bundleBytesMax = 16 * 1024 * 1024;
/** One deterministic-CBOR message; larger things travel as raw chunks. */
export const cborBytesMax = 16 * 1024 * 1024;
/** Nesting of arrays, maps and tags in one CBOR message. */
export const cborDepthMax = 16;
/** One COSE_Sign1 message. */
export const coseBytesMax = 1024 * 1024;
/** One X.509 certificate, DER. */
export const certificateBytesMax = 16 * 1024;
/** One CRL, DER. */
export const crlBytesMax = 1024 * 1024;
/** One certificate path, certificates. */
export const pathCertificatesMax = 10;
/** Nesting of one DER element. */
export const derDepthMax = 16;
/** Extensions of one certificate or CRL. */
export const extensionsMax = 32;
/** One PEM text with certificates. */
export const pemBytesMax = 256 * 1024;
/** Certificates offered as path material for one leaf. */
export const poolCertificatesMax = 24;
/** Signature checks spent while building one path. */
export const pathSignaturesMax = 24;
/** GHCB certificate table. */
export const certTableBytesMax = 256 * 1024;
/** Azure HCL report: header, report and runtime claims. */
export const hclBytesMax = 64 * 1024;
/** Firmware image for a launch digest. */
export const firmwareBytesMax = 64 * 1024 * 1024;
/** Virtual CPUs of one guest, for a launch digest. */
export const vcpusMax = 4096;
/** One signed policy or set of reference values. */
export const policyBytesMax = 1024 * 1024;
/** Launches that a policy describes: each costs a hash per section and virtual CPU. */
export const snpLaunchesMax = 64;
/** Workers of a data-parallel job. */
export const workersMax = 64;
/** Drawn for one job. A discharge and `finalize` hash them all in one transaction: contracts/SPEC.md §8. */
export const samplesMax = 4000;
/** GPUs of one composite evidence. */
export const gpusMax = 64;
/** Simulated roots, deny-list entries and other lists of a policy. */
export const policyListMax = 10_000;
/** Weights in a checkpoint. Leaves room for borders and receipts, so that a whole one fits one frame of the enclave's channel. */
export const checkpointWeightsBytesMax = 12 * 1024 * 1024 - 1280 * 1024;
/** State of a job whose checkpoints and result travel in sealed pieces: 22 million parameters with AdamW. */
export const stateBytesMax = 512 * 1024 * 1024;
/** Plaintext of a checkpoint in pieces: the weights, the best ones, and what stands in front of them. */
export const checkpointBytesMax = 2 * stateBytesMax + 16 * 1024 * 1024;
/** Proof bundle of one segment, and its statement document, in a bundle. */
export const proofBytesMax = 4 * 1024 * 1024;
export const proofDocumentCharactersMax = 64 * 1024;

/** One evaluation statement. */
export const evaluationBytesMax = 2048;
/** Evaluations of one job. */
export const evaluationsMax = 4096;

/** What a verdict rested on, as it travels. */
export const endorsementRecordBytesMax = 8 * 1024 * 1024;
/** One OCSP response. */
export const ocspBytesMax = 64 * 1024;
/** One document of advisories. */
export const advisoryBytesMax = 256 * 1024;
/** One NVIDIA reference manifest, XML. */
export const rimBytesMax = 256 * 1024;
/** Intel's collateral of one platform, as one JSON file. */
export const collateralBundleMax = 4 * 1024 * 1024;
/** One entry of a transparency log. tlog-tiles allows 65,535. */
export const entryBytesMax = 4096;
/** The body of a sealed entry, in the opening that its owner keeps. */
export const openingBytesMax = 2048;
/** One tlog-proof, characters. */
export const proofCharactersMax = 16 * 1024;
/** Hashes of one inclusion or consistency proof: trees stay below 2^63 leaves. */
export const pathHashesMax = 63;
