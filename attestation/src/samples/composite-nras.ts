/**
 * Runner for a CPU quote with a token of NVIDIA's remote service instead of the GPU's own report: file `quote` as in a
 * folder of quotes, `nrasToken`, and `jwks` where the service's keys are at hand. What is authentic, what is bound and
 * what is missing are checks of their own; a token is another verifier's word and never stands in for the report.
 */
import { toHex } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { openChecks, tierOf, type Check, type CheckRule } from '../check/checks.js';
import { parseQuote } from '../intel/quote.js';
import { readNrasNonce, verifyNras } from '../nvidia/nras.js';
import { runIntelSample } from './intel.js';
import { serviceKeys, verdictOf } from './types.js';
import type { SampleRunner } from './types.js';

const rule = (claim: CheckRule['claim'], expected: string, text: string, action: string): CheckRule => ({
  claim,
  expected,
  rule: text,
  source: 'attestation/SPEC.md §6.5, §7',
  action,
});
const rules = {
  COMPOSITE_TOKEN_NONCE: rule(
    'instance-identity',
    'the first or second half of REPORT_DATA',
    'The nonce that the token answers stands in the CPU’s REPORT_DATA.',
    'collect token and quote in one session',
  ),
  COMPOSITE_GPU_REPORT: rule(
    'hardware',
    'the GPU’s own report and chain',
    'The GPU’s evidence itself is at hand, and not another verifier’s word about it alone.',
    'keep the GPU’s report and certificate chain beside the token',
  ),
} satisfies Record<string, CheckRule>;

export const runCompositeNrasSample: SampleRunner = async (entry) => {
  const cpu = await runIntelSample(entry);
  const tokens = entry.files.get('nrasToken') ?? new Uint8Array();
  const opinion = await verifyNras({ tokens, keys: serviceKeys(entry), at: entry.at });
  const book = openChecks(rules);
  const nonce = readNrasNonce(tokens);
  const signed = cpu.authentic ? reportDataOf(entry.files.get('quote')!) : undefined;
  if (nonce !== undefined && signed !== undefined) {
    const stands = [signed.slice(0, 64), signed.slice(64)].includes(nonce);
    // Without session keys nothing says why the guest chose it, so a match is worth a warning at most.
    book.settle('COMPOSITE_TOKEN_NONCE', stands ? 'warned' : 'refused', nonce, `half of ${signed}`);
  }
  book.settle('COMPOSITE_GPU_REPORT', 'missing', 'a token of the remote service alone');
  const checks: readonly Check[] = [...cpu.checks, ...opinion.checks, ...book.checks()];
  const parts = [cpu.authenticity, opinion.authenticity];
  const authenticity = parts.includes('forged') ? 'forged' : 'undecided';
  return verdictOf(authenticity, tierOf(checks), checks);
};

function reportDataOf(quote: Uint8Array): string | undefined {
  try {
    return toHex(parseQuote(quote).body.report.reportData);
  } catch (error) {
    if (error instanceof Rejection) return undefined;
    throw error;
  }
}
