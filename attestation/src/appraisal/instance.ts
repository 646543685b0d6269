/**
 * Which machine and which launch made evidence: what a relying party compares when a second piece of evidence claims to
 * come from the session of a first one (attestation/SPEC.md §6.6). REPORT_DATA alone does not tell: whoever runs a
 * guest chooses it.
 */
import { isZero, toHex } from '../base/bytes.js';
import type { EvidenceKind } from '../check/verified.js';
import type { QuoteClaims } from '../intel/verify.js';
import type { NitroClaims } from '../nitro/verify.js';
import type { SnpClaims } from '../snp/verify.js';

/** Hexadecimal, of authentic evidence; what a kind does not have is absent. */
export interface MachineInstance {
  readonly kind: EvidenceKind;
  /** The endorsed chip id, also where the report hides it; PPID; absent under a VLEK. */
  readonly chip?: string;
  /** REPORT_ID of an SNP guest, drawn anew at every launch; the module id of a Nitro enclave. A TD has none. */
  readonly launch?: string;
  /** MEASUREMENT, MRTD, MRENCLAVE or PCR0. */
  readonly measurement: string;
  /** SHA-384 of the key that signed the ID block, where there was one. */
  readonly idKey?: string;
  /** What else was measured, by name: RTMR0 to RTMR3, PCR1 and up. */
  readonly registers: Readonly<Record<string, string>>;
}

export function snpInstance({ report, chipId }: SnpClaims, kind: EvidenceKind): MachineInstance {
  return {
    kind,
    ...(chipId !== undefined && { chip: chipId }),
    launch: toHex(report.reportId),
    measurement: toHex(report.measurement),
    ...(!isZero(report.idKeyDigest) && { idKey: toHex(report.idKeyDigest) }),
    registers: {},
  };
}

export function quoteInstance({ body, pck }: QuoteClaims): MachineInstance {
  const chip = toHex(pck.ppid);
  if (body.kind === 'sgx') return { kind: 'sgx', chip, measurement: toHex(body.report.mrEnclave), registers: {} };
  const { mrTd, rtmr0, rtmr1, rtmr2, rtmr3 } = body.report;
  const registers = Object.fromEntries([rtmr0, rtmr1, rtmr2, rtmr3].map((value, n) => [`RTMR${n}`, toHex(value)]));
  return { kind: 'tdx', chip, measurement: toHex(mrTd), registers };
}

export function nitroInstance({ module_id: launch, pcrs }: NitroClaims): MachineInstance {
  const [measurement, ...others] = [...pcrs].sort(([a], [b]) => a - b);
  return {
    kind: 'nitro',
    launch,
    measurement: toHex(measurement?.[1] ?? new Uint8Array()),
    registers: Object.fromEntries(others.map(([index, value]) => [`PCR${index}`, toHex(value)])),
  };
}

/** Names where two pieces of evidence differ: in nothing, if one launch of the same code on one chip made both. */
export function instanceDifferences(
  first: MachineInstance,
  second: MachineInstance,
): readonly (keyof MachineInstance)[] {
  const plain = (['kind', 'chip', 'launch', 'measurement', 'idKey'] as const).filter(
    (name) => first[name] !== second[name],
  );
  const names = new Set([...Object.keys(first.registers), ...Object.keys(second.registers)]);
  const same = [...names].every((name) => first.registers[name] === second.registers[name]);
  return same ? plain : [...plain, 'registers'];
}
