/** What a relying party accepts: the appraisal policy, as a signed document (attestation/SPEC.md §6.1). */
import { ConfigurationError } from '../base/errors.js';
import { gpusMax, snpLaunchesMax } from '../base/limits.js';
import { readDocument, readDocumentText, signDocument, verifyDocument } from '../check/document.js';
import { dictionary, flag, hex, integer, list, object, oneOf, optional, text } from '../check/schema.js';
import type { Node } from '../check/schema.js';
import { tdAttributeBits } from '../intel/pins.js';
import type { TdAttribute } from '../intel/pins.js';
import { neutralQuotePolicy } from '../intel/policy.js';
import type { QuotePolicy } from '../intel/policy.js';
import { cpuModelNames } from '../measure/vmsa.js';
import { neutralNitroPolicy } from '../nitro/policy.js';
import type { NitroPolicy } from '../nitro/policy.js';
import { neutralSnpPolicy } from '../snp/appraise.js';
import type { SnpLaunch, SnpPolicy } from '../snp/appraise.js';
import { guestPolicyBits, platformInfoBits } from '../snp/policy.js';
import type { GuestPolicyBit, PlatformInfoBit } from '../snp/policy.js';
import { snpProducts } from '../snp/product.js';
import type { SnpRoot } from '../snp/roots.js';
import { advisoryPolicyNode } from './advisories.js';
import type { AdvisoryPolicy } from './advisories.js';
import { neutralGpuPolicy } from './gpu.js';
import type { GpuPolicy } from './gpu.js';
import { cpuKinds, missingPins } from './pins.js';
import type { CpuKind } from './pins.js';

export interface AppraisalPolicy {
  readonly version: 1;
  readonly id: string;
  readonly environment: 'production' | 'development';
  /** Unix seconds between which the policy may be used. */
  readonly notBefore: number;
  readonly notAfter?: number;
  /** Roots of simulated hardware; only a development policy may carry any. */
  readonly simulatedRoots: readonly SnpRoot[];
  /** Evidence must answer the relying party's own nonce or carry the REPORT_DATA it expects. */
  readonly freshness: 'required' | 'optional';
  /**
   * Kinds of CPU evidence that are accepted; absent: all. Without it, evidence of another kind is held to that kind's
   * section alone, however little it demands.
   */
  readonly cpuKinds?: readonly CpuKind[];
  /** How long a result may be relied on, seconds. */
  readonly resultSecondsMax: number;
  readonly snp: SnpPolicy;
  readonly quote: QuotePolicy & PlatformLists;
  readonly nitro: NitroPolicy;
  readonly gpu: GpuPolicy;
  /** What is demanded of advisories; without it, those that are supplied count all the same. */
  readonly advisories?: AdvisoryPolicy;
}

/** Intel platforms by PPID, hexadecimal. */
export interface PlatformLists {
  readonly ppidsAllowed?: readonly string[];
  readonly ppidsDenied: readonly string[];
}

const bits = <T extends string>(names: object): Node<readonly T[]> => list(oneOf(...(Object.keys(names) as T[])), 64);
const svn = optional(integer(0, 255));
const tcbStatuses = [
  ...(['UpToDate', 'SWHardeningNeeded', 'ConfigurationNeeded', 'ConfigurationAndSWHardeningNeeded'] as const),
  ...(['OutOfDate', 'OutOfDateConfigurationNeeded'] as const),
];
const guestBits = bits<GuestPolicyBit>(guestPolicyBits);
const tdBits = bits<TdAttribute>(tdAttributeBits);
const platformBits = bits<PlatformInfoBit>(platformInfoBits);

const tcbFloor = object({
  product: oneOf(...snpProducts),
  floor: object({ fmc: svn, bootLoader: svn, tee: svn, snp: svn, microcode: svn }),
  advisory: text(),
  since: integer(),
  appliesTo: list(oneOf('reported', 'committed', 'launch'), 3),
});

const snpLaunch: Node<SnpLaunch> = object({
  firmware: hex(32),
  kernel: hex(32),
  initrd: hex(32),
  commandLine: text(2047),
  vcpus: integer(1, 512),
  cpu: oneOf(...cpuModelNames),
  features: integer(1),
});

const snpPolicy: Node<SnpPolicy> = object({
  allowDebug: flag,
  allowMigration: flag,
  guestPolicySet: guestBits,
  guestPolicyClear: guestBits,
  abiMinimum: optional(object({ major: integer(0, 255), minor: integer(0, 255) })),
  vmpls: optional(list(integer(0, 3), 4)),
  guestSvnMinimum: optional(integer(0, 0xffffffff)),
  measurements: optional(list(hex(48))),
  acpi: optional(oneOf('off')),
  launches: optional(list(snpLaunch, snpLaunchesMax)),
  idKeyDigests: optional(list(hex(48))),
  authorKeyDigests: optional(list(hex(48))),
  hostData: optional(hex(32)),
  platformInfoSet: platformBits,
  platformInfoClear: platformBits,
  unknownPlatformBits: oneOf('accept', 'warn', 'refuse'),
  products: optional(list(oneOf(...snpProducts), snpProducts.length)),
  tcbFloors: list(tcbFloor, 100),
  chipsAllowed: optional(list(hex(8, 64))),
  chipsDenied: list(hex(8, 64)),
  allowMaskedChip: flag,
  allowVlek: flag,
  cspIds: optional(list(text(), 100)),
  revocation: oneOf('required', 'if-supplied', 'not-demanded'),
  mitigations: optional(hex(8)),
});

const quotePolicy: Node<QuotePolicy & PlatformLists> = object({
  acceptedStatuses: list(oneOf(...tcbStatuses), 8),
  toleratedStatuses: list(oneOf(...tcbStatuses), 8),
  measurements: optional(list(hex(32, 48))),
  rtmrs: optional(dictionary('^[0-3]$', list(hex(48)))),
  mrConfigId: optional(list(hex(48))),
  mrOwner: optional(list(hex(48))),
  mrOwnerConfig: optional(list(hex(48))),
  mrServiceTd: optional(list(hex(48))),
  tdAttributesSet: optional(tdBits),
  tdAttributesClear: optional(tdBits),
  tcbEvaluationNumberMinimum: optional(integer()),
  mrSigners: optional(list(hex(32))),
  isvProdIds: optional(list(integer(0, 0xffff))),
  isvSvnMinimum: optional(integer(0, 0xffff)),
  refuseStrayBytes: flag,
  ppidsAllowed: optional(list(hex(16))),
  ppidsDenied: list(hex(16)),
});

const nitroPolicy: Node<NitroPolicy> = object({
  ageSecondsMax: optional(integer()),
  pcrs: dictionary('^(?:[0-9]|[12][0-9]|3[01])$', list(hex(48))),
});

const gpuPolicy: Node<GpuPolicy> = object({
  revocation: oneOf('required', 'if-supplied'),
  mode: oneOf('required', 'if-stated'),
  allowHold: flag,
  manifestGraceSeconds: integer(),
  devicesAllowed: optional(list(text(64))),
  devicesDenied: list(text(64)),
  drivers: optional(list(text(32))),
  vbioses: optional(list(text(32))),
  count: optional(integer(1, gpusMax)),
});

const policyNode: Node<AppraisalPolicy> = object({
  version: oneOf(1),
  id: text(),
  environment: oneOf('production', 'development'),
  notBefore: integer(),
  notAfter: optional(integer()),
  simulatedRoots: list(object({ product: oneOf(...snpProducts), spkiSha256: hex(32) }), 100),
  freshness: oneOf('required', 'optional'),
  cpuKinds: optional(list(oneOf(...cpuKinds), cpuKinds.length)),
  resultSecondsMax: integer(1),
  snp: snpPolicy,
  quote: quotePolicy,
  nitro: nitroPolicy,
  gpu: gpuPolicy,
  advisories: optional(advisoryPolicyNode),
});

/**
 * No floors, no lists, no freshness; debug and migration refused, any VMPL; simulated hardware refused. It shows what
 * evidence is and pins no code, so it is none for production.
 */
export const neutralPolicy: AppraisalPolicy = {
  version: 1,
  id: 'veritrain:neutral',
  environment: 'development',
  notBefore: 0,
  simulatedRoots: [],
  freshness: 'optional',
  resultSecondsMax: 3600,
  snp: neutralSnpPolicy,
  quote: { ...neutralQuotePolicy, ppidsDenied: [] },
  nitro: neutralNitroPolicy,
  gpu: neutralGpuPolicy,
};

/** JSON Schema (2020-12) of a policy; published as policy.schema.json. */
export function policyJsonSchema(): object {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Veritrain appraisal policy',
    ...policyNode.schema,
  };
}

/** @throws Rejection DOCUMENT_*, ConfigurationError POLICY_* */
export function parsePolicy(json: string): AppraisalPolicy {
  return checkPolicy(readDocumentText(policyNode, json));
}

/** The policy in its deterministic encoding, as a job carries it. @throws Rejection CBOR_*, DOCUMENT_SHAPE, ConfigurationError POLICY_* */
export function decodePolicy(encoded: Uint8Array): AppraisalPolicy {
  return checkPolicy(readDocument(policyNode, encoded));
}

/** As `decodePolicy`, also of one that no longer counts: `checkPolicy` says so. @throws Rejection CBOR_*, DOCUMENT_SHAPE */
export function readFormerPolicy(encoded: Uint8Array): AppraisalPolicy {
  return readDocument(policyNode, encoded);
}

const contentType = 'application/veritrain-policy+cbor';

export function signPolicy(
  policy: AppraisalPolicy,
  keyId: Uint8Array,
  sign: (toBeSigned: Uint8Array) => Uint8Array | Promise<Uint8Array>,
): Promise<Uint8Array> {
  return signDocument(checkPolicy(policy), contentType, keyId, sign);
}

/** @throws Rejection COSE_*, CBOR_*, DOCUMENT_*, ConfigurationError POLICY_* */
export async function verifyPolicy(bytes: Uint8Array, publicKey: Uint8Array): Promise<AppraisalPolicy> {
  return checkPolicy(await verifyDocument(policyNode, bytes, contentType, publicKey));
}

/**
 * A production policy can never accept simulated hardware, and names the code of every kind that it accepts, whoever
 * signed it.
 * @throws ConfigurationError POLICY_SIMULATED_ROOTS, POLICY_NOT_PINNED
 */
export function checkPolicy(policy: AppraisalPolicy): AppraisalPolicy {
  if (policy.environment === 'production' && policy.simulatedRoots.length > 0) {
    throw new ConfigurationError('POLICY_SIMULATED_ROOTS', {
      expected: 'no simulated roots in a production policy',
      got: `${policy.simulatedRoots.length}`,
      rule: 'attestation/SPEC.md §6.1',
      action: 'set environment to development, or remove the simulated roots',
    });
  }
  const missing = policy.environment === 'production' ? missingPins(policy) : [];
  if (missing.length > 0) {
    throw new ConfigurationError('POLICY_NOT_PINNED', {
      expected: missing.join('; '),
      got: `nothing of that in ${policy.id}`,
      rule: 'attestation/SPEC.md §6.1',
      action: 'name the code that may run, or take the kind out of cpuKinds',
    });
  }
  return policy;
}
