export { isAlive, thisProcess } from './alive.js';
export { lockDirectory, lockFile } from './directory-lock.js';
export { nodeCommand, programFile } from './node-command.js';
export { freePort, isListening } from './port.js';
export { readBody } from './read-body.js';
export { runService } from './run-service.js';
export { settingsFiles } from './settings-file.js';
export { startProcess, tailOf, type StartedProcess } from './start-process.js';
export { poll, retry, within } from './wait.js';
