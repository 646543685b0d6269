/** A transparency log: tiles, store, sequencer, its service, and what others ask it. */
export { fetchCheckpoint, fetchConsistency, fetchNote, fetchProof, submitEntry, tilesOf } from './client.js';
export { collectPartials } from './collect.js';
export { openLogDatabase, type LogDatabase } from './database.js';
export { Lease } from './lease.js';
export { LogMisbehaved, monitorRound, type MonitorAlert, type MonitorState, type Watch } from './monitor.js';
export { readEntriesOf, type FoundEntry } from './own.js';
export { recoverLog } from './sequencer.js';
export type { Wait } from './proofs.js';
export { LogService, type LogIssuer } from './service.js';
export { createFileStore, type LogFiles, type LogStore } from './store/files.js';
export { createS3Store, type S3Place } from './store/s3.js';
export { tilePattern } from './tiles/paths.js';
export { TileReader } from './tiles/reader.js';
export { exportLog, readEntries, RightEdge } from './whole.js';
export { Witnesses } from './witnesses.js';
