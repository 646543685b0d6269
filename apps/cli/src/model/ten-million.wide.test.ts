/** Nets of ten million parameters with AdamW: trained in 2 GB by all processes together, killed, and gone on with. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { runCli } from '#test/cli-process';
import { denseRun, transformerRun } from '#test/ten-million';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-large-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const steps = 2;

const bytesMax = 2e9;

it.each([denseRun(folder, steps), transformerRun(folder, steps)])(
  '$name: killed behind its first step, it ends in the same state as without that',
  { timeout: 3_600_000 },
  async ({ args }) => {
    const out = join(folder, 'model');
    const whole = await runCli([...args, '--out', out]);
    expect(whole).toMatchObject({ code: 0, json: { steps, resumedFrom: 0 } });
    const checkpoint = join(folder, 'checkpoint');
    const going = [...args, '--out', out, '--checkpoint', checkpoint, '--checkpoint-every', '1'];
    const killed = await runCli(going, { killWhen: () => existsSync(checkpoint) });
    expect(killed.signal).toBe('SIGKILL');
    const resumed = await runCli(going);
    expect(resumed).toMatchObject({ code: 0, json: { digest: whole.json['digest'] } });
    expect(resumed.json['resumedFrom']).toBeGreaterThan(0);
    for (const { peakBytes } of [whole, killed, resumed]) expect(peakBytes).toBeLessThan(bytesMax);
    rmSync(checkpoint);
    rmSync(out, { recursive: true });
  },
);
