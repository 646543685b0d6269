/** The chain of trust: which check belongs to which of its links, and what a link's state is. */
import { statusOrder, type Check } from '#libs/review';

export const linkIds = ['root', 'chip', 'firmware', 'code', 'session', 'receipts', 'seal', 'log', 'payment'] as const;
type LinkId = (typeof linkIds)[number];
/** Where steps are proved and nobody attested anything, the first five links are one. */
export type ShownLink = LinkId | 'proof';

/** By the check's id; a prefix stands for all ids that begin with it, and the longest counts. */
const table: Readonly<Record<LinkId, readonly string[]>> = {
  root: [
    ...['SIMULATED_HARDWARE', 'SNP_CHAIN', 'SNP_INTERMEDIATE', 'SNP_CERTIFICATES', 'QUOTE_PCK_CHAIN', 'NITRO_CHAIN'],
    ...['NVIDIA_CHAIN', 'NVIDIA_DRIVER_RIM_ISSUER', 'NVIDIA_VBIOS_RIM_ISSUER'],
  ],
  chip: [
    ...['SNP_REPORT_', 'SNP_ENDORSEMENT', 'SNP_CHIP_', 'SNP_PRODUCT', 'SNP_VLEK', 'SNP_REVOKED'],
    ...['QUOTE_FORMAT', 'QUOTE_TRAILING_BYTES', 'QUOTE_STRAY_BYTES', 'QUOTE_PCK_EXTENSION', 'QUOTE_QE_SIGNATURE'],
    ...[
      'QUOTE_ATTESTATION_KEY',
      'QUOTE_SIGNATURE',
      'QUOTE_CRL',
      'QUOTE_REVOKED',
      'QUOTE_PLATFORM_',
      'QUOTE_COLLATERAL_',
    ],
    ...['NITRO_FORMAT', 'NITRO_SIGNATURE', 'NITRO_TIMESTAMP', 'NVIDIA_REPORT_', 'NVIDIA_LEAF', 'NVIDIA_CERTIFICATE_'],
    ...['NVIDIA_OCSP_', 'GPU_DENIED', 'GPU_NOT_ALLOWED'],
  ],
  firmware: [
    ...['SNP_CERTIFICATE_TCB', 'SNP_TCB_', 'SNP_PLATFORM_', 'SNP_MITIGATIONS', 'ADVISORY_', 'QUOTE_TCB_', 'QUOTE_QE_'],
    ...['TDX_MODULE', 'NVIDIA_FWID_', 'NVIDIA_DRIVER_RIM_', 'NVIDIA_VBIOS_RIM_', 'NVIDIA_RIM_', 'NVIDIA_MEASUREMENT_'],
    ...['GPU_DRIVER', 'GPU_VBIOS', 'COMPOSITE_DRIVER', 'BUNDLE_ENDORSEMENTS'],
  ],
  code: [
    ...[
      'SNP_MEASUREMENT',
      'SNP_ACPI',
      'SNP_GUEST_',
      'SNP_POLICY_',
      'SNP_VMPL',
      'SNP_ID_KEY',
      'SNP_AUTHOR_KEY',
      'SNP_HOST_DATA',
    ],
    ...['QUOTE_MEASUREMENT', 'TDX_', 'SGX_', 'NITRO_DEBUG', 'NITRO_PCR', 'NVIDIA_CC_', 'BUNDLE_POLICY', 'HCL_'],
  ],
  session: [
    ...['POLICY_NOT_IN_FORCE', 'EVIDENCE_KIND', 'SESSION_CLAIMS', 'NONCE_MISMATCH', 'REPORT_DATA_MISMATCH'],
    ...['COMPOSITE_', 'BUNDLE_SESSIONS', 'BUNDLE_GRANTS', 'BUNDLE_APPRAISALS', 'BUNDLE_RESULTS', 'NITRO_SESSION'],
    ...['NITRO_AGE', 'NVIDIA_NONCE', 'NVIDIA_NRAS_'],
  ],
  receipts: [
    ...['BUNDLE_SPEC', 'BUNDLE_TERMS', 'BUNDLE_START', 'BUNDLE_RECEIPTS', 'BUNDLE_ROUNDS', 'BUNDLE_PROOFS'],
    ...['BUNDLE_SETUP', 'BUNDLE_SAMPLE', 'BUNDLE_CHAIN', 'BUNDLE_EVALUATIONS', 'BUNDLE_VALIDATION', 'BUNDLE_STOP'],
  ],
  seal: ['BUNDLE_RUN', 'BUNDLE_SEAL', 'BUNDLE_DELIVERY'],
  log: ['LOG_'],
  payment: ['BUNDLE_TRANSACTIONS'],
};

const rows = linkIds.flatMap((link) => table[link].map((name) => ({ link, name })));

/** @returns undefined for an id that no row names: a test holds that there is none */
export function linkOf(id: string): LinkId | undefined {
  const named = rows.filter(
    ({ name }) => id === name || (name.endsWith('_') ? id.startsWith(name) : id.startsWith(`${name}_`)),
  );
  return named.toSorted((a, b) => b.name.length - a.name.length)[0]?.link;
}

/**
 * - `unsupported`: holds by itself, but hangs on a link that does not.
 * - `absent`: nothing in this file is about it.
 */
export type LinkState = 'holds' | 'remark' | 'unknown' | 'broken' | 'unsupported' | 'absent';

export interface Link {
  readonly id: ShownLink;
  readonly state: LinkState;
  readonly checks: readonly Check[];
  /** The link to the left that does not hold, where the state is `unsupported`. */
  readonly hangsOn?: ShownLink;
}

const stateByStatus: Readonly<Record<Check['status'], LinkState>> = {
  met: 'holds',
  warned: 'remark',
  missing: 'unknown',
  'not-checked': 'unknown',
  refused: 'broken',
  forged: 'broken',
};

/** What simulated hardware can say nothing about. */
const ofHardware: ReadonlySet<ShownLink> = new Set<ShownLink>(['root', 'chip', 'firmware']);

export function chainOf(checks: readonly Check[], simulated: boolean, isProvedAlone: boolean): readonly Link[] {
  const placeOf = ({ id }: Check): ShownLink => {
    const link = linkOf(id) ?? 'receipts';
    if (!isProvedAlone) return link;
    if (/^BUNDLE_(PROOFS|SETUP|SAMPLE)$/.test(id)) return 'proof';
    return linkIds.indexOf(link) < linkIds.indexOf('receipts') ? 'proof' : link;
  };
  const shown: readonly ShownLink[] = isProvedAlone ? ['proof', 'receipts', 'seal', 'log', 'payment'] : linkIds;
  let broken: ShownLink | undefined;
  return shown.map((id): Link => {
    const own = checks.filter((check) => placeOf(check) === id);
    const state = ownState(id, own, simulated);
    if (state === 'broken') {
      broken ??= id;
      return { id, state, checks: own };
    }
    const isHanging = broken !== undefined && (state === 'holds' || state === 'remark');
    return isHanging ? { id, state: 'unsupported', checks: own, hangsOn: broken! } : { id, state, checks: own };
  });
}

/** Of receipts and proofs, by themselves and by what they hang on: nothing is green that hangs on what is not decided. */
export type Standing = 'holds' | 'open' | 'broken';

export function standingOf(links: readonly Link[]): Standing {
  const receipts = links.findIndex(({ id }) => id === 'receipts');
  const states = links.slice(0, receipts + 1).map(({ state }) => state);
  if (states.some((state) => state === 'broken' || state === 'unsupported')) return 'broken';
  return states.includes('unknown') ? 'open' : 'holds';
}

function ownState(id: ShownLink, checks: readonly Check[], simulated: boolean): LinkState {
  const gravest = statusOrder.find((status) => checks.some((check) => check.status === status));
  if (gravest === undefined) return 'absent';
  if (id === 'payment' && gravest === 'not-checked') return 'absent';
  // A bundle without log has one check of it.
  if (id === 'log' && gravest === 'warned' && checks.length === 1) return 'absent';
  const state = stateByStatus[gravest];
  return simulated && ofHardware.has(id) && state === 'holds' ? 'remark' : state;
}
