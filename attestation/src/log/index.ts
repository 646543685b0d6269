/** The transparency log as a reader sees it: entries, checkpoints, witnesses, proofs, and whom to trust. */
export {
  encodeBody,
  isPublicKind,
  isSealedKind,
  type EntryBody,
  type EntryKind,
  type PublicKind,
  type SealedKind,
} from './bodies.js';
export {
  checkpointText,
  cosign,
  cosignedAt,
  parseCheckpoint,
  parseSize,
  signCheckpoint,
  type Checkpoint,
  type SignedCheckpoint,
  type TreeState,
} from './checkpoint.js';
export {
  entryTag,
  issuerDigest,
  makePublicEntry,
  makeSealedEntry,
  openEntry,
  parseEntry,
  verifyEntry,
  type EntryIssuer,
  type LogEntry,
  type Opening,
  type PublicEntry,
  type SealedEntry,
} from './entry.js';
export { encodeLogExport, parseLogExport, type LogExport } from './export.js';
export { entryBytesMax, openingBytesMax, pathHashesMax, proofCharactersMax } from '../base/limits.js';
export { noteCharactersMax, trustPolicyCharactersMax } from './limits.js';
export {
  isSignedBy,
  noteKeyText,
  signaturesOf,
  parseNote,
  parseNoteKey,
  parseSignatureLine,
  type Note,
  type NoteKey,
  type NoteSignature,
} from './note.js';
export { earlySeconds, isLoggedBefore, type LoggedAt } from './order.js';
export { logProofText, parseHashes, parseLogProof, verifyLogProof, type LogProof } from './proof.js';
export { checkConsistency, checkInclusion, inclusionRoot, leafHash, nodeHash, splitOf, treeRoot } from './tree.js';
export {
  parseTrustPolicy,
  trustCheckpoint,
  type Sighting,
  type TrustedCheckpoint,
  type TrustPolicy,
} from './trust-policy.js';
