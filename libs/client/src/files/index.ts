/** Door of files that commands read and write, without the client. */
export {
  fullDisk,
  makeFolder,
  readBytes,
  readJson,
  unreadable,
  unwritable,
  writeTogether,
  writeWhole,
} from './files.js';
export { readSecret, writeSecret } from './secrets.js';
