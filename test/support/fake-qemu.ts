/** A program in QEMU's place (fake-qemu-main.ts), as a file. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** @param file  of the program; `FILE.env` beside it is read before each start, and is empty at first */
export function writeFakeQemu(file: string): void {
  const main = fileURLToPath(new URL('./fake-qemu-main.ts', import.meta.url));
  const node = `${process.execPath} --conditions=source --import @oxc-node/core/register`;
  writeFileSync(`${file}.env`, '');
  writeFileSync(file, `#!/bin/sh\n. ${file}.env\nexec ${node} ${main} "$@"\n`, { mode: 0o755 });
}
