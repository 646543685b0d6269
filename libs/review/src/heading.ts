/** The one line that a verdict is, for whoever reads nothing else. */
import type { BundleVerdict, Check } from '#attestation';

export type HeadingId =
  'verified' | 'verified-with-remarks' | 'simulated' | 'not-decided' | 'do-not-rely' | 'not-a-bundle';

export const headings: Readonly<Record<HeadingId, string>> = {
  verified: 'Verified',
  'verified-with-remarks': 'Verified, with remarks',
  simulated: 'Consistent, but simulated: says nothing about a machine',
  'not-decided': 'Not decided',
  'do-not-rely': 'Do not rely on this',
  'not-a-bundle': 'This file is not an evidence bundle',
};

export function headingOf({ tier, simulated }: Pick<BundleVerdict, 'tier' | 'simulated'>): HeadingId {
  if (tier === 'contraindicated') return 'do-not-rely';
  if (tier === 'none') return 'not-decided';
  if (simulated) return 'simulated';
  return tier === 'warning' ? 'verified-with-remarks' : 'verified';
}

/** From gravest to lightest. */
export const statusOrder: readonly Check['status'][] = [
  ...(['forged', 'refused', 'missing', 'not-checked', 'warned', 'met'] as const),
];

/** What stands against a plain yes, gravest first; equal ones of several sessions once. */
export function reasonsOf(checks: readonly Check[]): Check[] {
  const open = checks.filter(({ status }) => status !== 'met');
  const sorted = open.toSorted((a, b) => statusOrder.indexOf(a.status) - statusOrder.indexOf(b.status));
  const isFirst = (check: Check, index: number): boolean =>
    sorted.findIndex(({ id, status, got }) => id === check.id && status === check.status && got === check.got) ===
    index;
  return sorted.filter(isFirst);
}
