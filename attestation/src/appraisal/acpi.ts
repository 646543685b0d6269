/** The demand that a guest's kernel takes no ACPI tables of its host (attestation/SPEC.md §6.2.1). */
import { toHex } from '../base/bytes.js';
import { openChecks } from '../check/checks.js';
import type { Check } from '../check/checks.js';
import { isAcpiOff } from '../measure/acpi.js';
import { describedMeasurement } from '../measure/described.js';
import type { SnpPolicy } from '../snp/appraise.js';
import type { SnpClaims } from '../snp/verify.js';

const rules = {
  SNP_ACPI: {
    claim: 'executables',
    expected: 'a described launch with acpi=off',
    rule: 'The measured command line keeps the host’s ACPI tables out of the kernel.',
    source: 'policy; attestation/SPEC.md §6.2.1',
    action: 'build the image with --acpi off, and pin its manifest with policy add-image --acpi off',
  },
} as const;

/** Nothing where the policy does not demand it. */
export function appraiseAcpi({ report }: Pick<SnpClaims, 'report'>, policy: SnpPolicy): readonly Check[] {
  if (policy.acpi === undefined) return [];
  const book = openChecks(rules);
  const measurement = toHex(report.measurement);
  const launch = policy.launches?.find((each) => describedMeasurement(each) === measurement);
  const isOff = launch !== undefined && isAcpiOff(launch.commandLine);
  book.settle('SNP_ACPI', isOff ? 'met' : 'refused', launch?.commandLine ?? 'a measurement that no launch gives');
  return book.checks();
}
