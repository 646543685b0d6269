/**
 * A prover of a small unit as a process, for tests that kill it: `[variant] [call]`. Ends itself with SIGKILL as it asks its
 * backend for the call of that number, from 0; without one it writes {"digest": of the proof, "calls": names in order}.
 */
import { keccak, to0x } from '#attestation/base';
import { createEngine } from '../commit/kernels/engine.js';
import { KernelBackend } from '../prover/kernel-backend.js';
import { proveSegment } from '../prover/prove.js';
import type { Profile } from '../commit/params.js';
import type { Backend } from '../prover/backend.js';
import { testManifest, testProfile, testSegment } from './segments.js';

const level = { k: 2, logBlowup: 3, multiplicity: 2, queries: 5, grind: 2, grindFold: 1 };
const profile: Profile = {
  ...{ ...testProfile, unitSteps: 8, oodPoints: 2, inputsFirst: true },
  deeper: [level, { ...level, k: 1 }],
};

const [variant, killAt] = process.argv.slice(2) as ['joint' | 'separate', string | undefined];
const calls: string[] = [];
const backend = new Proxy(new KernelBackend(createEngine({ rowLogMax: 12 })) as Backend, {
  get(target, name) {
    const own: unknown = Reflect.get(target, name, target);
    if (typeof own !== 'function') return own;
    return (...given: unknown[]): unknown => {
      if (killAt !== undefined && calls.length === Number(killAt)) process.kill(process.pid, 'SIGKILL');
      calls.push(String(name));
      return Reflect.apply(own, target, given);
    };
  },
});

const { plan, input } = testSegment(backend, { profile, variant, manifest: testManifest({ superblock: 2 }), index: 1 });
calls.length = 0;
const { proof } = proveSegment(backend, plan, input);
process.stdout.write(JSON.stringify({ digest: to0x(keccak(proof)), calls }));
