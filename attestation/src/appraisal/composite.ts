/**
 * What ties a session together: the relying party's nonce, the session keys, the CPU's REPORT_DATA and the GPUs'
 * nonces (attestation/SPEC.md §6.5). Reports that merely stand in one list can come from different machines.
 */
import { compareBytes, equalBytes, fromHex, toHex } from '../base/bytes.js';
import { decodeCanonical } from '../base/cbor.js';
import { Rejection } from '../base/errors.js';
import { record } from '../base/shape.js';
import { openChecks, tierOf } from '../check/checks.js';
import type { CheckBook, CheckRule } from '../check/checks.js';
import { gpuModeField } from '../nvidia/mode.js';
import type { GpuMode } from '../nvidia/mode.js';
import { gpuNonce, reportData } from '../records/key-binding.js';
import type { CompositeEvidence, CpuEvidence, SessionBinding } from './evidence.js';
import type { AppraisalPolicy } from './policy.js';
import type { JudgedCpu, JudgedGpu, Submodule } from './submodules.js';

interface SessionExpectation {
  readonly policy: AppraisalPolicy;
  /** Unix seconds. */
  readonly at: number;
  /** The nonce that the relying party sent, 32 bytes. */
  readonly nonce?: Uint8Array;
  /** What REPORT_DATA must be, 64 bytes, where the caller knows it without a session. */
  readonly reportData?: Uint8Array;
  /** Device ids in other live sessions. */
  readonly devicesInUse?: ReadonlySet<string>;
}

const rule = (expected: string, text: string, action: string): CheckRule => ({
  claim: 'instance-identity',
  expected,
  rule: text,
  source: 'attestation/SPEC.md §6.5',
  action,
});
const again = 'collect fresh evidence in one session';
const sessionRules = {
  POLICY_NOT_IN_FORCE: {
    ...rule('within the policy’s dates', 'The policy is in force.', 'obtain the current policy'),
    claim: 'configuration',
  },
  EVIDENCE_KIND: rule('', 'The CPU evidence is of a kind that the policy accepts.', 'use hardware of an accepted kind'),
  SESSION_CLAIMS: rule('`{ gpu }` in canonical CBOR, or nothing', 'The guest’s statement can be read.', again),
  NONCE_MISMATCH: rule('the nonce that was sent', 'The evidence answers the relying party’s nonce.', again),
  REPORT_DATA_MISMATCH: rule(
    '',
    'REPORT_DATA covers nonce, session keys, GPU reports and guest claims, all 64 bytes.',
    again,
  ),
  COMPOSITE_UNBOUND: rule(
    'GPU nonces that follow from the CPU’s session',
    'Every GPU report answers a nonce that the CPU’s REPORT_DATA covers.',
    again,
  ),
  COMPOSITE_GPU_DUPLICATE: rule('each GPU once', 'No GPU appears twice.', again),
  COMPOSITE_GPU_COUNT: rule(
    '',
    'The number of GPUs is the one that policy and guest state.',
    'send the reports of all GPUs',
  ),
  COMPOSITE_DRIVER: {
    ...rule('the version that the guest states', 'The GPUs report the driver that the guest states.', again),
    claim: 'executables',
  },
  COMPOSITE_DEVICE_IN_USE: {
    ...rule('no device of another live session', 'No device serves two live sessions.', 'end the other session first'),
    claim: 'hardware',
  },
} satisfies Record<string, CheckRule>;
type Book = CheckBook<keyof typeof sessionRules>;

const claimsField = record({ gpu: gpuModeField });

/** The guest's statement of its GPUs' mode. @throws Rejection CBOR_*, MESSAGE_SHAPE */
function readGuestClaims(session: SessionBinding | undefined): GpuMode | undefined {
  if (session === undefined || session.claims.length === 0) return undefined;
  return claimsField(decodeCanonical(session.claims), 'claims').gpu;
}

/** A composite, or one device on its own. */
export interface Parts extends Pick<CompositeEvidence, 'gpus' | 'session'> {
  readonly cpu?: CpuEvidence;
}

export async function judgeSession(
  evidence: Parts,
  cpu: JudgedCpu | undefined,
  gpus: readonly JudgedGpu[],
  expected: SessionExpectation,
): Promise<Submodule> {
  const book = openChecks(sessionRules);
  const { notBefore, notAfter } = expected.policy;
  const inForce = notBefore <= expected.at && expected.at <= (notAfter ?? Infinity);
  book.settle(
    'POLICY_NOT_IN_FORCE',
    inForce ? 'met' : 'refused',
    `${expected.at}`,
    `${notBefore} to ${notAfter ?? 'open'}`,
  );
  const kinds: readonly string[] | undefined = expected.policy.cpuKinds;
  if (kinds === undefined) book.drop('EVIDENCE_KIND');
  else {
    const accepted = cpu !== undefined && kinds.includes(cpu.kind);
    book.settle('EVIDENCE_KIND', accepted ? 'met' : 'refused', cpu?.kind ?? 'no CPU evidence', kinds.join(', '));
  }
  await settleFreshness(book, evidence, cpu, expected);
  // A GPU on its own claims no machine, so there is nothing that it could be bound to.
  if (gpus.length === 0 || evidence.cpu === undefined) book.drop('COMPOSITE_UNBOUND');
  else settleBinding(book, evidence.session, cpu, gpus);
  settleDevices(book, evidence, gpus, expected);
  const checks = book.checks();
  const forged = checks.some(({ status }) => status === 'forged');
  return {
    name: 'session',
    kind: 'session',
    authenticity: forged ? 'forged' : 'authentic',
    tier: tierOf(checks),
    checks,
  };
}

async function settleFreshness(
  book: Book,
  { gpus, session }: Parts,
  cpu: JudgedCpu | undefined,
  { policy, nonce, reportData: stated }: SessionExpectation,
): Promise<void> {
  const required = policy.freshness === 'required';
  if (session === undefined) book.drop('SESSION_CLAIMS');
  else await book.attempt('SESSION_CLAIMS', () => (readGuestClaims(session) === undefined ? 'nothing' : 'GPU mode'));
  if (nonce !== undefined && session !== undefined) {
    const same = equalBytes(nonce, session.nonce);
    book.settle('NONCE_MISMATCH', same ? 'met' : 'refused', toHex(session.nonce), toHex(nonce));
  } else if (!required || stated !== undefined) book.drop('NONCE_MISMATCH');
  const reports = gpus.map(({ report }) => report);
  const computed = session && reportData(session.nonce, session.keys, reports, session.claims);
  const wanted = stated ?? computed;
  if (wanted === undefined) {
    if (!required) book.drop('REPORT_DATA_MISMATCH');
  } else if (cpu?.reportData !== undefined) {
    const same = equalBytes(cpu.reportData, wanted) && (computed === undefined || equalBytes(computed, wanted));
    book.settle('REPORT_DATA_MISMATCH', same ? 'met' : 'refused', toHex(cpu.reportData), toHex(wanted));
  }
}

/** With a session the nonce is derived; without one, containment in REPORT_DATA is at most worth a warning. */
function settleBinding(
  book: Book,
  session: SessionBinding | undefined,
  cpu: JudgedCpu | undefined,
  gpus: readonly JudgedGpu[],
): void {
  const nonces = gpus.flatMap(({ claims }) => (claims === undefined ? [] : [fromHex(claims.nonce)]));
  const signed = cpu?.reportData;
  if (nonces.length !== gpus.length || signed === undefined) return;
  const got = nonces.map(toHex).join(', ');
  if (session !== undefined) {
    const wanted = gpuNonce(session.nonce, session.keys);
    const all = nonces.every((nonce) => equalBytes(nonce, wanted));
    return book.settle('COMPOSITE_UNBOUND', all ? 'met' : 'refused', got, toHex(wanted));
  }
  const contained = nonces.every((nonce) =>
    [0, 32].some((half) => compareBytes(signed.subarray(half, half + 32), nonce) === 0),
  );
  book.settle(
    'COMPOSITE_UNBOUND',
    contained ? 'warned' : 'refused',
    got,
    `a nonce covered by REPORT_DATA ${toHex(signed)}`,
  );
}

function settleDevices(
  book: Book,
  { session }: Parts,
  gpus: readonly JudgedGpu[],
  { policy, devicesInUse }: SessionExpectation,
): void {
  const serials = gpus.flatMap(({ device }) => device ?? []);
  if (gpus.length < 2) book.drop('COMPOSITE_GPU_DUPLICATE');
  else
    book.settle(
      'COMPOSITE_GPU_DUPLICATE',
      new Set(serials).size === serials.length ? 'met' : 'refused',
      serials.join(', '),
    );
  const counts = [policy.gpu.count, readableMode(session)?.gpuCount].flatMap((count) => count ?? []);
  if (counts.length === 0) book.drop('COMPOSITE_GPU_COUNT');
  else
    book.settle(
      'COMPOSITE_GPU_COUNT',
      counts.every((count) => count === gpus.length) ? 'met' : 'refused',
      `${gpus.length}`,
      counts.join(' and '),
    );
  settleDriver(book, session, gpus);
  if (devicesInUse === undefined) return book.drop('COMPOSITE_DEVICE_IN_USE');
  const shared = serials.filter((serial) => devicesInUse.has(serial));
  book.settle(
    'COMPOSITE_DEVICE_IN_USE',
    shared.length === 0 ? 'met' : 'refused',
    shared.length === 0 ? 'none' : shared.join(', '),
  );
}

function settleDriver(book: Book, session: SessionBinding | undefined, gpus: readonly JudgedGpu[]): void {
  const stated = readableMode(session)?.driverVersion;
  const reported = gpus.flatMap(({ claims }) => claims?.driverVersion ?? []);
  if (stated === undefined || reported.length === 0) return book.drop('COMPOSITE_DRIVER');
  const same = reported.every((version) => version === stated);
  book.settle('COMPOSITE_DRIVER', same ? 'met' : 'refused', [...new Set(reported)].join(', '), stated);
}

/** A statement that cannot be read is none here; SESSION_CLAIMS reports it. */
export function readableMode(session: SessionBinding | undefined): GpuMode | undefined {
  try {
    return readGuestClaims(session);
  } catch (error) {
    if (error instanceof Rejection) return undefined;
    throw error;
  }
}
