/**
 * Loaded before a process: its wall clock is wrong by as many milliseconds as VERITRAIN_TEST_CLOCK_FILE says at the
 * moment. The monotonic clock and timers stay as they are, as when an administrator sets a machine's time. By how much
 * it is wrong stands in the same file with `.seen`.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const file = process.env['VERITRAIN_TEST_CLOCK_FILE'];
const rereadMs = 50;

if (file !== undefined) {
  const TrueDate = Date;
  let wrongByMs = 0;
  const wanted = (): number => {
    try {
      return Number(readFileSync(file, 'utf8')) || 0;
    } catch {
      return 0;
    }
  };
  const read = (): void => {
    const next = wanted();
    if (next === wrongByMs) return;
    wrongByMs = next;
    writeFileSync(`${file}.seen`, String(next));
  };
  read();
  setInterval(read, rereadMs).unref();
  globalThis.Date = new Proxy(TrueDate, {
    construct: (target, parts: []) =>
      parts.length === 0 ? new target(TrueDate.now() + wrongByMs) : new target(...parts),
    get: (target, name, receiver) =>
      name === 'now' ? () => TrueDate.now() + wrongByMs : (Reflect.get(target, name, receiver) as unknown),
  });
}
