/** What a policy pins of a TD or an enclave beside its launch measurement: each pin has a check of its own. */
import { toHex, uintLe } from '../base/bytes.js';
import { openChecks, type Check, type CheckRule, type TrustClaim } from '../check/checks.js';
import { integerLe, type QuoteBody, type SgxReport } from './quote.js';

export const tdAttributeBits = { SEPT_VE_DISABLE: 28, PKS: 30, PERFMON: 63 } as const;
export type TdAttribute = keyof typeof tdAttributeBits;

/** Absent: not demanded. */
export interface QuotePins {
  /** RTMR index to accepted values, hexadecimal: with TDVF, kernel, initrd and command line are in RTMR1 and RTMR2 alone. */
  readonly rtmrs?: Readonly<Record<number, readonly string[]>>;
  /** Accepted values of the TD report's field of that name, hexadecimal. */
  readonly mrConfigId?: readonly string[];
  readonly mrOwner?: readonly string[];
  readonly mrOwnerConfig?: readonly string[];
  /** TD reports 1.5 only; one of version 1.0 has none and is refused. */
  readonly mrServiceTd?: readonly string[];
  readonly tdAttributesSet?: readonly TdAttribute[];
  readonly tdAttributesClear?: readonly TdAttribute[];
  /** The edition of Intel's collateral (tcbEvaluationDataNumber) must not be older. */
  readonly tcbEvaluationNumberMinimum?: number;
  /** SGX: signer, product and security version of the enclave. */
  readonly mrSigners?: readonly string[];
  readonly isvProdIds?: readonly number[];
  readonly isvSvnMinimum?: number;
}

const rule = (claim: TrustClaim, text: string, action: string): CheckRule => ({
  claim,
  expected: '',
  rule: text,
  source: 'policy; Intel TDX Module Base Architecture Specification §12; attestation/SPEC.md §6.3',
  action,
});
const image = 'run a listed image, or review this one and list its registers';
const tdRules = {
  TDX_RTMR0: rule('executables', 'RTMR0 (firmware configuration) is listed.', image),
  TDX_RTMR1: rule('executables', 'RTMR1 (loader or kernel) is listed.', image),
  TDX_RTMR2: rule('executables', 'RTMR2 (kernel, initrd, command line) is listed.', image),
  TDX_RTMR3: rule('executables', 'RTMR3 (what the guest itself measures) is listed.', image),
  TDX_MRCONFIGID: rule('configuration', 'MRCONFIGID is listed.', 'start the TD with a listed configuration'),
  TDX_MROWNER: rule('configuration', 'MROWNER is listed.', 'start the TD for a listed owner'),
  TDX_MROWNERCONFIG: rule('configuration', 'MROWNERCONFIG is listed.', 'start the TD with a listed configuration'),
  TDX_MRSERVICETD: rule(
    'configuration',
    'The service TDs bound to the TD are listed.',
    'bind listed service TDs, or none',
  ),
  TDX_ATTRIBUTES_DEMANDED: rule('configuration', 'TD attributes are as the policy states.', 'start the TD with them'),
} satisfies Record<string, CheckRule>;

type TdPin = Exclude<keyof typeof tdRules, 'TDX_ATTRIBUTES_DEMANDED'>;

export function appraiseTdPins(body: Exclude<QuoteBody, { kind: 'sgx' }>, policy: QuotePins): readonly Check[] {
  const book = openChecks(tdRules);
  const { report } = body;
  const pins: Record<TdPin, readonly [readonly string[] | undefined, Uint8Array | undefined]> = {
    TDX_RTMR0: [policy.rtmrs?.[0], report.rtmr0],
    TDX_RTMR1: [policy.rtmrs?.[1], report.rtmr1],
    TDX_RTMR2: [policy.rtmrs?.[2], report.rtmr2],
    TDX_RTMR3: [policy.rtmrs?.[3], report.rtmr3],
    TDX_MRCONFIGID: [policy.mrConfigId, report.mrConfigId],
    TDX_MROWNER: [policy.mrOwner, report.mrOwner],
    TDX_MROWNERCONFIG: [policy.mrOwnerConfig, report.mrOwnerConfig],
    TDX_MRSERVICETD: [policy.mrServiceTd, body.kind === 'td15' ? body.report.mrServiceTd : undefined],
  };
  for (const [code, [list, value]] of Object.entries(pins) as [TdPin, (typeof pins)[TdPin]][]) {
    if (list === undefined) book.drop(code);
    else {
      const got = value === undefined ? 'no such field in this TD report' : toHex(value);
      book.settle(code, list.includes(got) ? 'met' : 'refused', got, `one of ${list.length} listed`);
    }
  }
  const { tdAttributesSet: set = [], tdAttributesClear: clear = [] } = policy;
  const attributes = uintLe(report.tdAttributes, 0, 8);
  const isSet = (name: keyof typeof tdAttributeBits): boolean =>
    ((attributes >> BigInt(tdAttributeBits[name])) & 1n) === 1n;
  const wrong = [...set.filter((name) => !isSet(name)), ...clear.filter(isSet)];
  if (set.length + clear.length === 0) book.drop('TDX_ATTRIBUTES_DEMANDED');
  else
    book.settle(
      'TDX_ATTRIBUTES_DEMANDED',
      wrong.length === 0 ? 'met' : 'refused',
      wrong.length === 0 ? `0x${attributes.toString(16)}` : `otherwise: ${wrong.join(', ')}`,
      `set: ${set.join(', ')}; clear: ${clear.join(', ')}`,
    );
  return book.checks();
}

const enclaveRules = {
  SGX_MRSIGNER: rule('executables', 'A listed key signed the enclave.', 'run an enclave of a listed signer'),
  SGX_ISVPRODID: rule('executables', 'ISVPRODID is listed.', 'run a listed product of this signer'),
  SGX_ISVSVN: rule('executables', 'ISVSVN reaches the minimum.', 'run a newer enclave'),
} satisfies Record<string, CheckRule>;

export function appraiseEnclavePins(report: SgxReport, policy: QuotePins): readonly Check[] {
  const book = openChecks(enclaveRules);
  const { mrSigners, isvProdIds, isvSvnMinimum: minimum } = policy;
  const signer = toHex(report.mrSigner);
  const product = integerLe(report.isvProdId);
  const svn = integerLe(report.isvSvn);
  if (mrSigners === undefined) book.drop('SGX_MRSIGNER');
  else {
    const listed = mrSigners.includes(signer) ? 'met' : 'refused';
    book.settle('SGX_MRSIGNER', listed, signer, `one of ${mrSigners.length} listed`);
  }
  if (isvProdIds === undefined) book.drop('SGX_ISVPRODID');
  else
    book.settle('SGX_ISVPRODID', isvProdIds.includes(product) ? 'met' : 'refused', `${product}`, isvProdIds.join(', '));
  if (minimum === undefined) book.drop('SGX_ISVSVN');
  else book.settle('SGX_ISVSVN', svn >= minimum ? 'met' : 'refused', `${svn}`, `≥ ${minimum}`);
  return book.checks();
}
