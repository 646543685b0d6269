/** A transparency log: tiles, store, sequencer, its service, and what others ask it. */
export { fetchCheckpoint, fetchConsistency, fetchNote, submitEntry, tilesOf } from './client.js';
export { openLogDatabase } from './database.js';
export { LogMisbehaved, monitorRound, type MonitorAlert, type MonitorState, type Watch } from './monitor.js';
export { recoverLog } from './sequencer.js';
export { LogService, type LogIssuer, type Wait } from './service.js';
export { createFileStore, type LogStore } from './store/files.js';
export { tilePattern } from './tiles/paths.js';
export { TileReader } from './tiles/reader.js';
