/** The rules that a policy can demand of an authentic SNP report: one per code (attestation/SPEC.md §6.2). */
import type { CheckRule } from '../check/checks.js';

const rule = (claim: CheckRule['claim'], expected: string, text: string, action: string): CheckRule => ({
  claim,
  expected,
  rule: text,
  source: 'policy; attestation/SPEC.md §6.2',
  action,
});

export const snpPolicyRules = {
  SNP_POLICY_DEBUG_SET: rule(
    'configuration',
    '0',
    'Guest policy bit 19 (DEBUG) is clear: the host cannot read the guest.',
    'start the guest without debug',
  ),
  SNP_POLICY_MIGRATION_SET: rule(
    'configuration',
    '0',
    'Guest policy bit 18 (MIGRATE_MA) is clear.',
    'start the guest without a migration agent',
  ),
  SNP_GUEST_POLICY: rule(
    'configuration',
    '',
    'Guest policy bits are as the policy states.',
    'start the guest with the demanded policy bits',
  ),
  SNP_POLICY_ABI: rule(
    'configuration',
    '',
    'The guest demands at least this firmware ABI.',
    'raise ABI_MAJOR and ABI_MINOR in the guest policy',
  ),
  SNP_VMPL: rule(
    'configuration',
    '',
    'The report was asked for at an accepted privilege level.',
    'request the report from the accepted VMPL',
  ),
  SNP_GUEST_SVN: rule(
    'executables',
    '',
    'The guest’s security version reaches the minimum.',
    'run a newer guest image',
  ),
  SNP_MEASUREMENT: rule(
    'executables',
    '',
    'The launch measurement is listed.',
    'run a listed image, or review this one and list it',
  ),
  SNP_ID_KEY: rule(
    'executables',
    '',
    'A listed key signed the guest’s ID block.',
    'launch with an ID block of a listed key',
  ),
  SNP_AUTHOR_KEY: rule(
    'executables',
    '',
    'A listed author key vouches for the ID key.',
    'launch with a listed author key',
  ),
  SNP_HOST_DATA: rule('configuration', '', 'HOST_DATA is the demanded value.', 'launch with the demanded HOST_DATA'),
  SNP_PLATFORM_INFO: rule(
    'hardware',
    '',
    'PLATFORM_INFO bits are as the policy states.',
    'change the machine’s firmware settings',
  ),
  SNP_PLATFORM_UNKNOWN_BITS: rule(
    'hardware',
    'none',
    'No PLATFORM_INFO bit without a published meaning is set.',
    'find out what the bit means',
  ),
  SNP_TCB_ORDER: rule(
    'hardware',
    'reported ≤ committed ≤ current',
    'REPORTED_TCB ≤ COMMITTED_TCB ≤ CURRENT_TCB in every component.',
    'commit the running firmware',
  ),
  SNP_TCB_BELOW_FLOOR: rule(
    'hardware',
    '',
    'Every TCB floor in force is reached.',
    'update the machine’s firmware and fetch the new VCEK',
  ),
  SNP_PRODUCT_NOT_ALLOWED: rule(
    'hardware',
    '',
    'The product is one of those allowed.',
    'use a listed product, or list this one',
  ),
  SNP_CHIP_DENIED: rule('hardware', 'not on the deny-list', 'The chip is not denied.', 'use another machine'),
  SNP_CHIP_NOT_ALLOWED: rule(
    'hardware',
    '',
    'The chip is one of those allowed.',
    'use a listed machine, or list this one',
  ),
  SNP_CHIP_MASKED: rule(
    'instance-identity',
    'a visible chip id',
    'The report names its chip.',
    'unmask the chip id in firmware',
  ),
  SNP_VLEK: rule(
    'instance-identity',
    '',
    'A VLEK is accepted and names an accepted provider.',
    'use a VCEK or a listed provider',
  ),
  SNP_REVOKED: rule(
    'instance-identity',
    'good',
    'No certificate of the chain is revoked.',
    'supply AMD’s current CRL; if revoked, use another machine',
  ),
  SNP_MITIGATIONS: rule(
    'hardware',
    '',
    'The demanded mitigations were on at launch and are on now.',
    'update firmware and relaunch',
  ),
} satisfies Record<string, CheckRule>;
