/**
 * What a policy accepts of an authentic Nitro document. Debug mode is never accepted. Source:
 * attestation/EVIDENCE.md §7.
 */
import { isZero, toHex } from '../base/bytes.js';
import { openChecks, type Check, type CheckRule } from '../check/checks.js';
import type { NitroClaims } from './verify.js';

export interface NitroPolicy {
  /** Age of the document at the verification time, seconds; absent: the life of its leaf certificate. */
  readonly ageSecondsMax?: number;
  /** PCR index to accepted values, hexadecimal. */
  readonly pcrs: Readonly<Record<number, readonly string[]>>;
}

export const neutralNitroPolicy: NitroPolicy = { pcrs: {} };

/** A clock this much behind the enclave's is tolerated, seconds. */
const skewSeconds = 60;

const rules = {
  NITRO_DEBUG: rule(
    'configuration',
    'PCR0..2 not all zero',
    'The enclave ran outside debug mode.',
    'start it without --debug-mode',
  ),
  NITRO_AGE: rule('instance-identity', '', 'The document is recent.', 'ask the enclave for a fresh document'),
  NITRO_PCR: rule(
    'executables',
    'listed values',
    'Every register that the policy names has a listed value.',
    'run a listed image',
  ),
} satisfies Record<string, CheckRule>;

/** @param at  Unix seconds */
export function appraiseNitro(claims: NitroClaims, policy: NitroPolicy, at: number): readonly Check[] {
  const book = openChecks(rules);
  const code = [0, 1, 2].map((index) => claims.pcrs.get(index));
  const debug = code.every((pcr) => pcr === undefined || isZero(pcr));
  book.settle('NITRO_DEBUG', debug ? 'refused' : 'met', code.map((pcr) => (pcr ? toHex(pcr) : 'absent')).join(', '));

  const age = at - Math.floor(claims.timestamp / 1000);
  const recent = age >= -skewSeconds && (policy.ageSecondsMax === undefined || age <= policy.ageSecondsMax);
  const limit = `-${skewSeconds} to ${policy.ageSecondsMax ?? 'the end of its certificate'}`;
  book.settle('NITRO_AGE', recent ? 'met' : 'refused', `${age} s`, limit);

  const named = Object.entries(policy.pcrs);
  const differing = named.filter(([index, accepted]) => {
    const pcr = claims.pcrs.get(Number(index));
    return pcr === undefined || !accepted.some((value) => value.toLowerCase() === toHex(pcr));
  });
  if (named.length === 0) book.drop('NITRO_PCR');
  else
    book.settle(
      'NITRO_PCR',
      differing.length === 0 ? 'met' : 'refused',
      differing.map(([index]) => `PCR${index}`).join(', ') || 'all listed',
    );
  return book.checks();
}

function rule(claim: CheckRule['claim'], expected: string, sentence: string, action: string): CheckRule {
  return {
    claim,
    expected,
    rule: sentence,
    source: 'AWS Nitro attestation process; attestation/EVIDENCE.md §7',
    action,
  };
}
