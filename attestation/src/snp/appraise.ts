/** What a policy accepts of an authentic SNP report (attestation/SPEC.md §6.2). */
import { equalBytes, fromHex, isZero, toHex } from '../base/bytes.js';
import { dateOf } from '../base/date.js';
import { openChecks } from '../check/checks.js';
import type { Check, CheckBook, CheckStatus } from '../check/checks.js';
import type { GuestPolicyBit, PlatformInfoBit } from './policy.js';
import { sameChip } from './product.js';
import type { SnpProduct } from './product.js';
import { snpPolicyRules } from './rules.js';
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

/** What a measurement stands for (attestation/SPEC.md §5.7.2). Hashes are SHA-256 in lower-case hexadecimal. */
export interface SnpLaunch {
  readonly firmware: string;
  readonly kernel: string;
  readonly initrd: string;
  readonly commandLine: string;
  readonly vcpus: number;
  /** Name of a QEMU CPU model. */
  readonly cpu: string;
  /** SEV_FEATURES. */
  readonly features: number;
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
  /** The kernel takes no ACPI tables of the host: its command line, which `launches` tie to the measurement, says `acpi=off`. */
  readonly acpi?: 'off';
  /** Launches whose measurement is computed again from what they say. */
  readonly launches?: readonly SnpLaunch[];
  readonly idKeyDigests?: readonly string[];
  readonly authorKeyDigests?: readonly string[];
  readonly hostData?: string;
  readonly platformInfoSet: readonly PlatformInfoBit[];
  readonly platformInfoClear: readonly PlatformInfoBit[];
  readonly unknownPlatformBits: 'accept' | 'warn' | 'refuse';
  /** Products that are accepted; absent: all. */
  readonly products?: readonly SnpProduct[];
  /** Once there is any, a product without one of its own cannot be decided. */
  readonly tcbFloors: readonly TcbFloor[];
  /** Ids as endorsements give them; a Turin id of 8 bytes may stand with the 56 zeros that reports add. */
  readonly chipsAllowed?: readonly string[];
  readonly chipsDenied: readonly string[];
  readonly allowMaskedChip: boolean;
  readonly allowVlek: boolean;
  /** Names of cloud providers in VLEK certificates. */
  readonly cspIds?: readonly string[];
  /** Under `if-supplied` an unknown or stale state is a warning; under `not-demanded` only supplied lists are looked at. */
  readonly revocation: 'required' | 'if-supplied' | 'not-demanded';
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
  settleIf(book, 'SNP_VMPL', demandOf(policy.vmpls), policy.vmpls?.includes(report.vmpl), `${report.vmpl}`);
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
  settleIf(book, 'SNP_PRODUCT_NOT_ALLOWED', demandOf(policy.products), policy.products?.includes(product), product);
  const own = policy.tcbFloors.filter((floor) => floor.product === product);
  if (own.length === 0 && policy.tcbFloors.length > 0) {
    return book.settle('SNP_TCB_BELOW_FLOOR', 'missing', `no floor for ${product}`, `a floor for ${product}`);
  }
  const floors = own.filter((floor) => floor.since <= at);
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
  const isIn = (list: readonly string[]): boolean => chipId !== undefined && list.some((one) => sameChip(one, chipId));
  if (policy.chipsDenied.length === 0) book.drop('SNP_CHIP_DENIED');
  else {
    // A VLEK names no chip, so a denied one could stand behind it.
    const status = chipId === undefined ? 'missing' : lift(!isIn(policy.chipsDenied));
    book.settle('SNP_CHIP_DENIED', status, id);
  }
  const allowed = policy.chipsAllowed;
  settleIf(book, 'SNP_CHIP_NOT_ALLOWED', allowed && `one of ${allowed.length} listed`, allowed && isIn(allowed), id);
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
  if (policy.revocation === 'not-demanded' && state === 'unknown') return book.drop('SNP_REVOKED');
  const tolerated = policy.revocation === 'required' ? 'missing' : 'warned';
  const status = { good: 'met', revoked: 'refused', stale: tolerated, unknown: tolerated } as const;
  const number = list?.number === undefined ? '' : `, CRL ${list.number}`;
  const day = (seconds: number): string => dateOf(`${1000 * seconds}`) ?? `${seconds}`;
  const end = list?.nextUpdate === undefined ? 'open' : day(list.nextUpdate);
  const window = list === undefined ? '' : `${number}, ${day(list.thisUpdate)} to ${end}`;
  const ignored = unusable.length === 0 ? '' : `; unusable lists: ${unusable.join(', ')}`;
  const expected = policy.revocation === 'required' ? 'good' : 'good; unknown or stale is tolerated by this policy';
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

/** An empty list demands what nothing meets. */
function demandOf(list: readonly unknown[] | undefined): string | undefined {
  return list && (list.length === 0 ? 'none' : list.join(', '));
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
