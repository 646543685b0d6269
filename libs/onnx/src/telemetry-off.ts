/**
 * Switches off the telemetry client of onnxruntime, which is on by default from 1.30: it reads the machine's id, writes a
 * device id and a database of events below the home folder, and sends them. The library looks at the variable as it is
 * loaded, so this module is evaluated before it. Children inherit it.
 */
import { isMainThread } from 'node:worker_threads';

const name = 'ORT_DISABLE_TELEMETRY';

// What a thread sets stays in the thread; the library reads the variables of the process.
if (!isMainThread && process.env[name] !== '1') {
  throw new Error(`${name}: expected 1 before a thread starts that loads onnxruntime, got something else`);
}
process.env[name] = '1';
