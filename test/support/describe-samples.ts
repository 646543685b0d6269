import { existsSync } from 'node:fs';
import { describe, it } from 'vitest';
import { samplesRoot } from './samples.js';

/** A group of tests over real evidence. Its body may read the samples: where they are absent it does not run. */
export function describeSamples(name: string, body: () => void): void {
  if (existsSync(samplesRoot)) return void describe(name, body);
  it.skip(`${name}: no real samples at ${samplesRoot}`);
}
