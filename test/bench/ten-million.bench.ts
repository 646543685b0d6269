/** A step of batch 32 of nets with ten million parameters and AdamW: memory of all processes, time, checkpoint. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCli } from '#test/cli-process';
import { denseRun, transformerRun } from '#test/ten-million';
import type { BenchResult } from './result.js';

const steps = 3;

export async function run(): Promise<BenchResult[]> {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-large-'));
  try {
    const results: BenchResult[] = [];
    for (const [i, { name, args }] of [denseRun(folder, steps), transformerRun(folder, steps)].entries()) {
      const checkpoint = join(folder, `checkpoint-${i}`);
      const going = ['--out', join(folder, `model-${i}`), '--checkpoint', checkpoint, '--checkpoint-every', '1'];
      const { code, stderr, json, peakBytes } = await runCli([...args, ...going]);
      if (code !== 0) throw new Error(stderr);
      const seconds = 32 / Math.max(1, Number(json['samplesPerSecond']));
      results.push(
        one(`${name}, memory of all processes`, 'MB', peakBytes / 1e6),
        one(`${name}, a step with its checkpoint`, 's', seconds),
        one(`${name}, checkpoint`, 'MB', statSync(checkpoint).size / 1e6),
      );
      rmSync(checkpoint);
    }
    return results;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function one(name: string, unit: string, value: number): BenchResult {
  return { name, unit, n: 1, min: value, median: value, max: value };
}
