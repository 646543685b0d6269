import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { samplesRoot } from './samples.js';

const absent = !existsSync(samplesRoot);

/** A group of tests over real evidence. Its body may read the samples: where they are absent it does not run. */
export function describeSamples(name: string, body: () => void): void {
  if (absent) it.skipIf(absent)(`${name}: no real samples at ${samplesRoot}`, () => expect.unreachable());
  else describe(name, body);
}
