/** Door of files that commands read and write, without the client. */
export {
  fullDisk,
  leftBeside,
  makeFolder,
  readBytes,
  readJson,
  unreadable,
  unwritable,
  writeTogether,
  writeWhole,
} from './files.js';
export { readSecret, writeSecret } from './secrets.js';
