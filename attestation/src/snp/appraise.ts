/** What a policy accepts of an authentic SNP report (attestation SPEC §6.2). */
import { equalBytes, fromHex, isZero, toHex } from '../bytes.js';
import { openChecks } from '../appraisal/checks.js';
import type { Check, CheckBook, CheckRule, CheckStatus } from '../appraisal/checks.js';
import type { GuestPolicyBit, PlatformInfoBit } from './policy.js';
import type { SnpProduct } from './product.js';
import { tcbBelow, tcbText } from './tcb.js';
import type { Tcb } from './tcb.js';
import type { SnpClaims } from './verify.js';

/** A minimum per component, by whom and since when. */
export interface TcbFloor {
  readonly product: SnpProduct;
  readonly floor: Tcb;
  readonly advisory: string;
  /** Unix seconds; the floor holds for appraisals as of this time and later. */
  readonly since: number;
  /** Which of the report's TCBs must reach it; `reported` is what the key was derived from. */
  readonly appliesTo: readonly ('reported' | 'committed' | 'launch')[];
}

/** Digests and ids in lower-case hexadecimal. Absent lists and values demand nothing. */
export interface SnpPolicy {
  readonly allowDebug: boolean;
  readonly allowMigration: boolean;
  readonly guestPolicySet: readonly GuestPolicyBit[];
  readonly guestPolicyClear: readonly GuestPolicyBit[];
  readonly abiMinimum?: { readonly major: number; readonly minor: number };
  readonly vmpls?: readonly number[];
  readonly guestSvnMinimum?: number;
  readonly measurements?: readonly string[];
  readonly idKeyDigests?: readonly string[];
  readonly authorKeyDigests?: readonly string[];
  readonly hostData?: string;
  readonly platformInfoSet: readonly PlatformInfoBit[];
  readonly platformInfoClear: readonly PlatformInfoBit[];
  readonly unknownPlatformBits: 'accept' | 'warn' | 'refuse';
  readonly tcbFloors: readonly TcbFloor[];
  readonly chipsAllowed?: readonly string[];
  readonly chipsDenied: readonly string[];
  readonly allowMaskedChip: boolean;
  readonly allowVlek: boolean;
  /** Names of cloud providers in VLEK certificates. */
  readonly cspIds?: readonly string[];
  readonly revocation: 'required' | 'if-supplied';
  /** Bits of CURRENT_MIT_VECTOR and LAUNCH_MIT_VECTOR that must be set, hexadecimal. */
  readonly mitigations?: string;
}

/** No floors, no lists; debug and migration refused, any VMPL. */
export const neutralSnpPolicy: SnpPolicy = {
  allowDebug: false,
  allowMigration: false,
  guestPolicySet: [],
  guestPolicyClear: [],
  platformInfoSet: [],
  platformInfoClear: [],
  unknownPlatformBits: 'accept',
  tcbFloors: [],
  chipsDenied: [],
  allowMaskedChip: false,
  allowVlek: true,
  revocation: 'if-supplied',
};

const rule = (claim: CheckRule['claim'], expected: string, text: string, action: string): CheckRule => ({
  claim,
  expected,
  rule: text,
  source: 'policy; attestation SPEC §6.2',
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
type Book = CheckBook<keyof typeof snpPolicyRules>;

/** One check per rule that the policy demands. @param at  Unix seconds */
export function appraiseSnp(claims: SnpClaims, policy: SnpPolicy, at: number): readonly Check[] {
  const book = openChecks(snpPolicyRules);
  appraiseGuest(book, claims, policy);
  appraiseImage(book, claims, policy);
  appraisePlatform(book, claims, policy);
  appraiseTcb(book, claims, policy, at);
  appraiseIdentity(book, claims, policy);
  settleRevocation(book, claims, policy);
  return book.checks();
}

const lift = (holds: boolean): CheckStatus => (holds ? 'met' : 'refused');

function appraiseGuest(book: Book, { guestPolicy, report }: SnpClaims, policy: SnpPolicy): void {
  const bit = (value: boolean): string => (value ? '1' : '0');
  book.settle(
    'SNP_POLICY_DEBUG_SET',
    lift(!guestPolicy.debugAllowed || policy.allowDebug),
    bit(guestPolicy.debugAllowed),
  );
  book.settle(
    'SNP_POLICY_MIGRATION_SET',
    lift(!guestPolicy.migrationAllowed || policy.allowMigration),
    bit(guestPolicy.migrationAllowed),
  );
  const wrong = [
    ...policy.guestPolicySet.filter((name) => !guestPolicy[name]),
    ...policy.guestPolicyClear.filter((name) => guestPolicy[name]),
  ];
  if (policy.guestPolicySet.length + policy.guestPolicyClear.length === 0) book.drop('SNP_GUEST_POLICY');
  else {
    const expected = `set: ${policy.guestPolicySet.join(', ')}; clear: ${policy.guestPolicyClear.join(', ')}`;
    book.settle(
      'SNP_GUEST_POLICY',
      lift(wrong.length === 0),
      wrong.length === 0 ? 'as demanded' : `otherwise: ${wrong.join(', ')}`,
      expected,
    );
  }
  const { abiMinimum: abi } = policy;
  const { abiMajor, abiMinor } = guestPolicy;
  const reached = abi !== undefined && (abiMajor > abi.major || (abiMajor === abi.major && abiMinor >= abi.minor));
  settleIf(book, 'SNP_POLICY_ABI', abi && `≥ ${abi.major}.${abi.minor}`, reached, `${abiMajor}.${abiMinor}`);
  settleIf(book, 'SNP_VMPL', policy.vmpls?.join(', '), policy.vmpls?.includes(report.vmpl), `${report.vmpl}`);
  settleIf(book, 'SNP_HOST_DATA', policy.hostData, policy.hostData === toHex(report.hostData), toHex(report.hostData));
}

function appraiseImage(book: Book, { report }: SnpClaims, policy: SnpPolicy): void {
  const minimum = policy.guestSvnMinimum;
  settleIf(
    book,
    'SNP_GUEST_SVN',
    minimum !== undefined && `≥ ${minimum}`,
    report.guestSvn >= (minimum ?? 0),
    `${report.guestSvn}`,
  );
  settleListed(book, 'SNP_MEASUREMENT', policy.measurements, report.measurement);
  settleListed(book, 'SNP_ID_KEY', policy.idKeyDigests, report.idKeyDigest);
  const author = report.authorKeyEnabled ? report.authorKeyDigest : new Uint8Array(48);
  settleListed(book, 'SNP_AUTHOR_KEY', policy.authorKeyDigests, author);
}

function appraisePlatform(book: Book, { platformInfo, report }: SnpClaims, policy: SnpPolicy): void {
  const { set, unknownBits } = platformInfo;
  const wrong = [
    ...policy.platformInfoSet.filter((name) => !set.includes(name)),
    ...policy.platformInfoClear.filter((name) => set.includes(name)),
  ];
  const demanded = policy.platformInfoSet.length + policy.platformInfoClear.length > 0;
  const expected = `set: ${policy.platformInfoSet.join(', ')}; clear: ${policy.platformInfoClear.join(', ')}`;
  settleIf(book, 'SNP_PLATFORM_INFO', demanded && expected, wrong.length === 0, set.join(', '));
  const unknown = { accept: 'met', warn: 'warned', refuse: 'refused' } as const;
  const status = unknownBits.length === 0 ? 'met' : unknown[policy.unknownPlatformBits];
  book.settle(
    'SNP_PLATFORM_UNKNOWN_BITS',
    status,
    unknownBits.length === 0 ? 'none' : `bits ${unknownBits.join(', ')}`,
    policy.unknownPlatformBits === 'accept' ? 'any' : 'none',
  );
  const mask = policy.mitigations === undefined ? undefined : BigInt(`0x${policy.mitigations}`);
  const [launch, current] = [report.launchMitigations ?? 0n, report.currentMitigations ?? 0n];
  const on = mask !== undefined && (launch & current & mask) === mask;
  settleIf(
    book,
    'SNP_MITIGATIONS',
    policy.mitigations,
    on,
    `launch ${launch.toString(16)}, current ${current.toString(16)}`,
  );
}

function appraiseTcb(book: Book, { tcb, product }: SnpClaims, policy: SnpPolicy, at: number): void {
  const disorder = [...tcbBelow(tcb.committed, tcb.reported), ...tcbBelow(tcb.current, tcb.committed)];
  book.settle('SNP_TCB_ORDER', lift(disorder.length === 0), disorder.length === 0 ? 'in order' : disorder.join(', '));
  const floors = policy.tcbFloors.filter((floor) => floor.product === product && floor.since <= at);
  const missed = floors.flatMap(({ floor, advisory, appliesTo }) =>
    appliesTo.flatMap((which) =>
      tcbBelow(tcb[which], floor).map(
        (component) => `${which} ${component} ${tcb[which][component] ?? 0} (${advisory})`,
      ),
    ),
  );
  const expected = floors.map(({ floor, advisory }) => `${tcbText(floor)} (${advisory})`).join('; ');
  settleIf(
    book,
    'SNP_TCB_BELOW_FLOOR',
    expected,
    missed.length === 0,
    missed.length === 0 ? tcbText(tcb.reported) : missed.join('; '),
  );
}

function appraiseIdentity(book: Book, { chipId, chipIdMasked, endorsement }: SnpClaims, policy: SnpPolicy): void {
  const id = chipId ?? 'no chip id';
  settleIf(
    book,
    'SNP_CHIP_DENIED',
    policy.chipsDenied.length > 0 && 'not on the deny-list',
    !policy.chipsDenied.includes(id),
    id,
  );
  const allowed = policy.chipsAllowed;
  settleIf(book, 'SNP_CHIP_NOT_ALLOWED', allowed && `one of ${allowed.length} listed`, allowed?.includes(id), id);
  if (endorsement.kind === 'vlek') {
    book.drop('SNP_CHIP_MASKED');
    const named = policy.cspIds === undefined || policy.cspIds.includes(endorsement.cspId);
    const expected = policy.allowVlek ? (policy.cspIds?.join(', ') ?? 'any provider') : 'a VCEK';
    return book.settle('SNP_VLEK', lift(policy.allowVlek && named), endorsement.cspId, expected);
  }
  book.drop('SNP_VLEK');
  book.settle('SNP_CHIP_MASKED', lift(!chipIdMasked || policy.allowMaskedChip), chipIdMasked ? 'masked' : 'visible');
}

function settleRevocation(book: Book, { revocation }: SnpClaims, policy: SnpPolicy): void {
  const { state, list, unusable } = revocation;
  const tolerated = policy.revocation === 'if-supplied' ? 'met' : 'missing';
  const status = { good: 'met', revoked: 'refused', stale: tolerated, unknown: tolerated } as const;
  const number = list?.number === undefined ? '' : `, CRL ${list.number}`;
  const window = list === undefined ? '' : `${number}, ${list.thisUpdate} to ${list.nextUpdate ?? 'open'}`;
  const ignored = unusable.length === 0 ? '' : `; unusable lists: ${unusable.join(', ')}`;
  const expected =
    policy.revocation === 'required' ? 'good' : 'not revoked; unknown or stale is accepted by this policy';
  book.settle('SNP_REVOKED', status[state], `${state}${window}${ignored}`, expected);
}

function settleListed(
  book: Book,
  code: 'SNP_MEASUREMENT' | 'SNP_ID_KEY' | 'SNP_AUTHOR_KEY',
  list: readonly string[] | undefined,
  value: Uint8Array,
): void {
  const listed = !isZero(value) && (list ?? []).some((entry) => equalBytes(fromHex(entry), value));
  settleIf(book, code, list && `one of ${list.length} listed`, listed, toHex(value));
}

/** Settles a check that the policy demands; drops it when `expected` is absent, false or empty. */
function settleIf(
  book: Book,
  code: keyof typeof snpPolicyRules,
  expected: string | false | undefined,
  holds: boolean | undefined,
  got: string,
): void {
  if (expected === undefined || expected === false) return book.drop(code);
  if (expected === '') return book.drop(code);
  book.settle(code, lift(holds === true), got, expected);
}
