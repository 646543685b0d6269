/** `npm run fuzz`: mutants for the verifiers. */
import { randomInt } from 'node:crypto';
import { readCommandLine } from '#test/command-line';
import { fuzzAttestation } from './attestation-fuzz.js';
import { fuzzGroth16 } from './groth16-fuzz.js';
import { fuzzStepProofs } from './step-proof-fuzz.js';

const usage = `npm run fuzz -- [--target evidence|step-proof|groth16] [--count N] [--seed N] [--json]
  Hands N mutants of real evidence (100,000), or of step proofs or Groth16 proofs and their statements (10,000), to the
  verifiers. The same seed gives the same mutants on every machine; without one a fresh seed is drawn and printed.
  Exit status 0 only when no mutant was accepted and none made a verifier crash.`;
const { values, whole, refuse } = readCommandLine(usage, {
  options: {
    target: { type: 'string', default: 'evidence' },
    count: { type: 'string' },
    seed: { type: 'string' },
    json: { type: 'boolean' },
  },
});
const seed = values.seed === undefined ? randomInt(1, 1_000_000_000) : whole('seed', values.seed);
const targets = {
  evidence: { fuzz: fuzzAttestation, count: 100_000 },
  'step-proof': { fuzz: fuzzStepProofs, count: 10_000 },
  groth16: { fuzz: fuzzGroth16, count: 10_000 },
} as const;
if (!Object.hasOwn(targets, values.target)) {
  refuse(`--target: expected ${Object.keys(targets).join(' or ')}; got ${values.target}`);
}
const target = targets[values.target as keyof typeof targets];
const count = values.count === undefined ? target.count : whole('count', values.count, 1);
process.stderr.write(`fuzz: ${count} mutants of seed ${seed} …\n`);
const began = Date.now();
const { inputs, refused, failures } = await target.fuzz(count, seed);
const accepted = failures.filter(({ what }) => what === 'accepted').length;
const crashes = failures.length - accepted;
const seconds = Math.round((Date.now() - began) / 1000);
const summary = { seed, inputs, refused, accepted, crashes, seconds };
process.stdout.write(
  values.json === true
    ? `${JSON.stringify({ ...summary, failures })}\n`
    : `${Object.entries(summary)
        .map(([name, value]) => `${name} ${value}`)
        .join(', ')}\n${failures.map(({ target, what, input }) => `${target}: ${what}\n  ${input}\n`).join('')}`,
);
process.exitCode = failures.length === 0 ? 0 : 1;
