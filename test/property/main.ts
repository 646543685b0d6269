/**
 * `npm run fuzz -- [--count N] [--seed N] [--json]`: hands N mutants of real evidence to the verifiers. The same seed
 * gives the same mutants on every machine; without one a fresh seed is drawn and printed. Exit status 0 only when no
 * mutant was accepted and none made a verifier crash.
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { fuzzAttestation } from './attestation-fuzz.js';

const { values } = parseArgs({
  options: { count: { type: 'string', default: '100000' }, seed: { type: 'string' }, json: { type: 'boolean' } },
});
const whole = (text: string): number => {
  if (!/^\d{1,9}$/.test(text)) throw new TypeError(`a whole number, not ${text}`);
  return Number(text);
};
const seed = values.seed === undefined ? randomInt(1, 1_000_000_000) : whole(values.seed);
const count = whole(values.count);
process.stderr.write(`fuzz: ${count} mutants of seed ${seed} …\n`);
const began = Date.now();
const { inputs, refused, failures } = await fuzzAttestation(count, seed);
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
