/** Door of files that commands read and write, without the client. */
export { fullDisk, makeFolder, readBytes, readJson, unreadable, unwritable, writeWhole } from './files.js';
export { readSecret, writeSecret } from './secrets.js';
export { finishTogether, writeTogether } from './together.js';
