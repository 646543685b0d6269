/** What a policy leaves open, in words: for whoever signs it, as nothing in an appraisal can show it. */
import { missingPin } from './pins.js';
import type { CpuKind } from './pins.js';
import type { AppraisalPolicy } from './policy.js';

export interface OpenDemand {
  /** Where in the policy the demand would stand. */
  readonly field: string;
  readonly sentence: string;
}

type Rule = readonly [field: string, isOpen: boolean | undefined, sentence: string];

const allKinds: readonly CpuKind[] = ['snp', 'tdx', 'sgx', 'nitro'];

/** @returns in the order of the policy's fields; empty where everything that can be demanded is */
export function openDemands(policy: AppraisalPolicy): readonly OpenDemand[] {
  const kinds = policy.cpuKinds ?? allKinds;
  const quoted = kinds.includes('tdx') || kinds.includes('sgx');
  const rules: readonly Rule[] = [
    ...ofPolicy(policy),
    ...kinds.map((kind): Rule => {
      const missing = kind === 'simulated-snp' ? missingPin('snp', policy) : missingPin(kind, policy);
      return [kind, missing !== undefined, `any code may run on ${kind}: not demanded is ${missing ?? ''}`];
    }),
    ...(kinds.includes('snp') || kinds.includes('simulated-snp') ? ofSnp(policy) : []),
    ...(quoted ? ofQuote(policy) : []),
    ...(kinds.includes('tdx') ? ofTdx(policy) : []),
    ...(kinds.includes('nitro') ? ofNitro(policy) : []),
    ...ofGpu(policy),
  ];
  return rules.flatMap(([field, isOpen, sentence]) => (isOpen === true ? [{ field, sentence }] : []));
}

function ofPolicy({ environment, freshness, cpuKinds, notAfter, advisories }: AppraisalPolicy): readonly Rule[] {
  const required = advisories?.demand === 'required';
  return [
    ['environment', environment === 'development', 'this is a policy for development: code need not be pinned'],
    ['notAfter', notAfter === undefined, 'the policy has no end'],
    ['freshness', freshness !== 'required', 'evidence may be old: it need not answer a nonce'],
    ['cpuKinds', cpuKinds === undefined, 'CPU evidence of every kind is accepted, each under its own section alone'],
    ['advisories', !required, 'no advisories are demanded: a condemned product passes where none are supplied'],
    [
      'advisories.ageSecondsMax',
      required && advisories?.ageSecondsMax === undefined,
      'advisories of any age are taken as current',
    ],
  ];
}

function ofSnp({ snp }: AppraisalPolicy): readonly Rule[] {
  return [
    ['snp.vmpls', snp.vmpls === undefined, 'a report from any privilege level of the guest is accepted'],
    ['snp.allowDebug', snp.allowDebug, 'a guest that its host may debug is accepted: the host reads and changes it'],
    ['snp.acpi', snp.acpi === undefined, 'the guest may run ACPI code of its host, which reaches all of its memory'],
    ['snp.allowMigration', snp.allowMigration, 'a guest that may be moved by a migration agent is accepted'],
    ['snp.abiMinimum', snp.abiMinimum === undefined, 'any firmware ABI is accepted'],
    ['snp.hostData', snp.hostData === undefined, 'the host may state any HOST_DATA'],
    ['snp.guestPolicySet', snp.guestPolicySet.length === 0, 'no guest policy bit is demanded'],
    [
      'snp.guestPolicyClear',
      snp.guestPolicyClear.length === 0,
      'no guest policy bit but DEBUG and MIGRATE_MA is refused',
    ],
    ['snp.platformInfoSet', snp.platformInfoSet.length === 0, 'no setting of the machine is demanded'],
    ['snp.platformInfoClear', snp.platformInfoClear.length === 0, 'no setting of the machine is refused'],
    ['snp.unknownPlatformBits', snp.unknownPlatformBits === 'accept', 'platform bits without a meaning pass unseen'],
    ['snp.products', snp.products === undefined, 'every product is accepted'],
    ['snp.tcbFloors', snp.tcbFloors.length === 0, 'firmware of any age is accepted'],
    ['snp.chipsAllowed', snp.chipsAllowed === undefined, 'every chip is accepted'],
    ['snp.allowVlek', snp.allowVlek, 'a VLEK is accepted: it names no chip'],
    ['snp.allowMaskedChip', snp.allowMaskedChip, 'a report may hide its chip'],
    ['snp.revocation', snp.revocation !== 'required', 'revocation lists are not demanded'],
    ['snp.mitigations', snp.mitigations === undefined, 'no mitigation bits are demanded'],
  ];
}

function ofQuote({ quote }: AppraisalPolicy): readonly Rule[] {
  return [
    ['quote.ppidsAllowed', quote.ppidsAllowed === undefined, 'every Intel platform is accepted'],
    [
      'quote.tcbEvaluationNumberMinimum',
      quote.tcbEvaluationNumberMinimum === undefined,
      'any edition of Intel’s collateral counts, as long as its dates hold',
    ],
  ];
}

function ofTdx({ quote }: AppraisalPolicy): readonly Rule[] {
  const veDisable = quote.tdAttributesSet?.includes('SEPT_VE_DISABLE') === true;
  return [
    ['quote.rtmrs.0', quote.rtmrs?.[0] === undefined, 'RTMR0 is not pinned: any firmware configuration'],
    ['quote.rtmrs.3', quote.rtmrs?.[3] === undefined, 'RTMR3 is not pinned: whatever the guest measures itself'],
    ['quote.mrConfigId', quote.mrConfigId === undefined, 'MRCONFIGID is not pinned'],
    ['quote.mrOwner', quote.mrOwner === undefined, 'MROWNER is not pinned'],
    ['quote.mrOwnerConfig', quote.mrOwnerConfig === undefined, 'MROWNERCONFIG is not pinned'],
    ['quote.mrServiceTd', quote.mrServiceTd === undefined, 'service TDs of any kind may be bound to the TD'],
    ['quote.tdAttributesSet', !veDisable, 'SEPT_VE_DISABLE is not demanded'],
  ];
}

function ofNitro({ nitro }: AppraisalPolicy): readonly Rule[] {
  return [['nitro.ageSecondsMax', nitro.ageSecondsMax === undefined, 'a document counts as long as its certificate']];
}

function ofGpu({ gpu }: AppraisalPolicy): readonly Rule[] {
  return [
    ['gpu.count', gpu.count === undefined, 'any number of GPUs, none included'],
    ['gpu.mode', gpu.mode !== 'required', 'the guest need not state that the GPU is in confidential mode'],
    ['gpu.revocation', gpu.revocation !== 'required', 'OCSP answers for GPUs are not demanded'],
    ['gpu.devicesAllowed', gpu.devicesAllowed === undefined, 'every GPU is accepted'],
    ['gpu.drivers', gpu.drivers === undefined, 'every driver version with a manifest is accepted'],
    ['gpu.vbioses', gpu.vbioses === undefined, 'every VBIOS version with a manifest is accepted'],
  ];
}
