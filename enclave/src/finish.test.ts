import { describe, expect, it } from 'vitest';
import { parseEvaluation, type Checkpoint } from '#attestation/records';
import { GuardViolation } from '#libs/step';
import { openedCheckpoints, stoppingJob } from '#test/host-attack';
import { chainId, provider, registry } from '#test/tiny-job';
import { stopAtGuard } from './finish.js';
import { createSessionKeys } from './keys.js';
import type { ReadyJob } from './ready-job.js';
import type { Position } from './trainer.js';

describe('a stop by a guard', async () => {
  const made = await stoppingJob('plain');
  const { opened } = await openedCheckpoints(made);
  const { step, borders, links, sessions, evaluations } = opened[0] as Checkpoint;
  const keys = await createSessionKeys({ provider, chainId, registry });

  it.each(['none', 'epoch'] as const)('A-M5 under `%s` hands the host no evaluation', (every) => {
    const spec = { ...made.spec, progress: { every } };
    const escrowId = new Uint8Array(32);
    const job = { spec, manifest: made.net, escrowId, lease: { check: () => undefined } } as unknown as ReadyJob;
    const reached = { step, borders, chain: { links, sessions, evaluations: evaluations! } } as unknown as Position;
    const violation = new GuardViolation(9, 'Y1', '-128 to 127', '200');
    const { type, evaluations: told } = stopAtGuard(job, violation, reached, keys);
    expect(parseEvaluation(evaluations![0]!.statement).step).toBe(8);
    expect([type, told]).toEqual(['stopped', []]);
  });
});
