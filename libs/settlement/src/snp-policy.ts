/**
 * The policy of SnpRegistry that fits an appraisal policy, and what of that one the chain cannot demand.
 * contracts/SPEC.md §10. The key broker appraises under the whole appraisal policy; the chain checks again what it
 * can.
 */
import { AbiCoder, getBytes, keccak256 } from 'ethers';
import { z } from 'zod';
import {
  documentDigest,
  guestPolicyBits,
  platformInfoBits,
  productLayout,
  snpProducts,
  tcbOffsets,
  tcbText,
  type AppraisalPolicy,
  type SnpPolicy,
  type SnpProduct,
  type TcbComponent,
} from '#attestation';
import { ConfigurationError, fromHex, to0x } from '#attestation/base';
import type { Hex } from './chain.js';

/** As the contract's ABI takes it; its identity is keccak256 of its encoding. */
export interface ChainSnpPolicy {
  /** Allows images; nothing else of the policy can change. */
  readonly owner: string;
  /** SHA-256 of the appraisal policy that it fits: what the terms name as `policy`. */
  readonly salt: Hex;
  /** Milan, Genoa, Turin, in the report's byte order; all ones: the product is refused. */
  readonly tcbFloors: readonly [Hex, Hex, Hex];
  readonly validForSeconds: number;
  readonly nonceBlocks: number;
  readonly allowVlek: boolean;
  readonly guestSvn: number;
  /** Bits of the guest policy, and of PLATFORM_INFO, that must be set and that must be clear. */
  readonly guestSet: string;
  readonly guestClear: string;
  readonly platformSet: string;
  readonly platformClear: string;
  /** Zero: any. */
  readonly hostData: Hex;
  /** keccak256 of the ID key's digest; zero: any. */
  readonly idKey: Hex;
}

interface SnpPolicyOptions {
  readonly owner: string;
  readonly validForSeconds: number;
  readonly nonceBlocks: number;
  /** Absent: those that the policy has floors for, or all where it has none. */
  readonly products?: readonly SnpProduct[];
  /** Unix seconds: floors that begin later are left out. */
  readonly at: number;
}

export interface SnpPolicyPlan {
  readonly policy: ChainSnpPolicy;
  /** Terms.snpPolicy. */
  readonly id: Hex;
  /** keccak256 of each launch measurement: what the owner has to allow. */
  readonly measurements: readonly Hex[];
  /** What the appraisal policy demands and the chain does not. */
  readonly notDemanded: readonly string[];
  /** What the chain refuses although the appraisal policy admits it. */
  readonly stricter: readonly string[];
}

const policyType =
  'tuple(address owner,bytes32 salt,bytes8[3] tcbFloors,uint32 validForSeconds,uint32 nonceBlocks,bool allowVlek,' +
  'uint32 guestSvn,uint64 guestSet,uint64 guestClear,uint64 platformSet,uint64 platformClear,bytes32 hostData,' +
  'bytes32 idKey)';
const zero = `0x${'00'.repeat(32)}` as const;

export function snpPolicyId(policy: ChainSnpPolicy): Hex {
  return keccak256(AbiCoder.defaultAbiCoder().encode([policyType], [policy])) as Hex;
}

/** @throws ConfigurationError POLICY_SNP where no SNP evidence can meet both policies */
export function snpPolicyOf(policy: AppraisalPolicy, options: SnpPolicyOptions): SnpPolicyPlan {
  const { snp, cpuKinds } = policy;
  if (cpuKinds !== undefined && !cpuKinds.some((kind) => kind === 'snp' || kind === 'simulated-snp')) {
    throw unfit('a policy that accepts SEV-SNP', cpuKinds.join(', '));
  }
  if (snp.vmpls !== undefined && !snp.vmpls.includes(0)) throw unfit('VMPL 0 among vmpls', snp.vmpls.join(', '));
  const { owner, validForSeconds, nonceBlocks, at } = options;
  const products = options.products ?? productsOf(snp);
  const [idKey] = snp.idKeyDigests ?? [];
  const chain: ChainSnpPolicy = {
    ...{ owner, salt: to0x(fromHex(documentDigest(policy))) },
    tcbFloors: snpProducts.map((product) =>
      products.includes(product) ? floorBytes(snp, product, at) : refusedProduct,
    ) as [Hex, Hex, Hex],
    ...{ validForSeconds, nonceBlocks, allowVlek: snp.allowVlek, guestSvn: snp.guestSvnMinimum ?? 0 },
    guestSet: mask(snp.guestPolicySet.map((name) => guestPolicyBits[name])),
    guestClear: mask(snp.guestPolicyClear.map((name) => guestPolicyBits[name])),
    platformSet: mask(snp.platformInfoSet.map((name) => platformInfoBits[name])),
    platformClear: mask([
      ...snp.platformInfoClear.map((name) => platformInfoBits[name]),
      ...(snp.unknownPlatformBits === 'refuse' ? unnamedPlatformBits : []),
    ]),
    hostData: snp.hostData === undefined ? zero : to0x(fromHex(snp.hostData)),
    idKey: snp.idKeyDigests?.length === 1 ? (keccak256(`0x${idKey}`) as Hex) : zero,
  };
  return {
    policy: chain,
    id: snpPolicyId(chain),
    measurements: (snp.measurements ?? []).map((measurement) => keccak256(getBytes(`0x${measurement}`)) as Hex),
    notDemanded: notDemanded(policy, at),
    stricter: stricter(snp),
  };
}

/** No component reaches it: reserved bytes are zero. */
const refusedProduct: Hex = `0x${'ff'.repeat(8)}`;

const unnamedPlatformBits = Array.from({ length: 64 }, (_, bit) => bit).filter(
  (bit) => !Object.values(platformInfoBits).some((known) => known === bit),
);

const mask = (bits: readonly number[]): string =>
  `0x${bits.reduce((sum, bit) => sum | (1n << BigInt(bit)), 0n).toString(16)}`;

function productsOf({ tcbFloors }: SnpPolicy): readonly SnpProduct[] {
  const floored = snpProducts.filter((product) => tcbFloors.some((floor) => floor.product === product));
  return floored.length === 0 ? snpProducts : floored;
}

const inForce = ({ tcbFloors }: SnpPolicy, at: number) => tcbFloors.filter(({ since }) => since <= at);

/** The highest of the floors in force, component by component. */
function floorBytes(snp: SnpPolicy, product: SnpProduct, at: number): Hex {
  const floors = inForce(snp, at).filter((floor) => floor.product === product && floor.appliesTo.includes('reported'));
  const offsets = Object.entries(tcbOffsets[productLayout[product]]) as [TcbComponent, number][];
  const bytes = new Uint8Array(8);
  for (const [component, offset] of offsets) {
    bytes[offset] = Math.max(0, ...floors.map(({ floor }) => floor[component] ?? 0));
  }
  return to0x(bytes);
}

const named = (what: string, values: readonly unknown[] | undefined): string[] =>
  values === undefined || values.length === 0 ? [] : [`${what}: ${values.join(', ')}`];

function notDemanded(policy: AppraisalPolicy, at: number): string[] {
  const { snp, gpu } = policy;
  const later = snp.tcbFloors.filter(({ since }) => since > at);
  const others = inForce(snp, at).filter(({ appliesTo }) => appliesTo.some((which) => which !== 'reported'));
  return [
    ...(snp.abiMinimum ? [`guest ABI of at least ${snp.abiMinimum.major}.${snp.abiMinimum.minor}`] : []),
    ...(snp.idKeyDigests?.length === 1 ? [] : named('ID keys', snp.idKeyDigests)),
    ...named('author keys', snp.authorKeyDigests),
    ...(snp.mitigations === undefined ? [] : [`mitigations ${snp.mitigations}`]),
    'reported ≤ committed ≤ current TCB',
    ...others.map(({ product, floor, appliesTo }) => `${product} ${appliesTo.join(' and ')} TCB of ${tcbText(floor)}`),
    ...later.map(({ product, floor, since }) => `${product} TCB of ${tcbText(floor)}, in force from ${since}`),
    ...named('chips allowed', snp.chipsAllowed),
    ...named('chips denied, but where the revoker condemned them', snp.chipsDenied),
    ...named('cloud providers of VLEKs', snp.cspIds),
    ...(snp.revocation === 'required' ? ['current CRLs: only what the revoker entered is refused'] : []),
    ...(gpu.count === undefined ? [] : [`GPUs: ${gpu.count}`]),
    ...(snp.measurements === undefined ? ['a list of images: the owner has to allow each'] : []),
  ];
}

function stricter(snp: SnpPolicy): string[] {
  const levels = snp.vmpls === undefined ? 'any VMPL' : `VMPL ${snp.vmpls.join(', ')}`;
  return [
    ...(snp.allowDebug ? ['guests with DEBUG'] : []),
    ...(snp.allowMigration ? ['guests with MIGRATE_MA'] : []),
    ...(snp.vmpls?.length === 1 ? [] : [`${levels}: only 0`]),
    ...(snp.allowMaskedChip ? ['reports with a masked chip'] : []),
  ];
}

function unfit(expected: string, got: string): ConfigurationError {
  return new ConfigurationError('POLICY_SNP', { expected, got, rule: 'contracts/SPEC.md §10' });
}

const hexOf = (bytes: number): z.ZodType<Hex> =>
  z.string().regex(new RegExp(`^0x[0-9a-fA-F]{${2 * bytes}}$`), `0x and ${2 * bytes} hexadecimal digits`) as never;
const bits = z.string().regex(/^0x[0-9a-f]{1,16}$/, '0x and up to 16 hexadecimal digits');
const uint32 = z.int().min(0).max(0xffffffff);

const ChainSnpPolicyJson: z.ZodType<ChainSnpPolicy> = z.strictObject({
  owner: hexOf(20),
  salt: hexOf(32),
  tcbFloors: z.tuple([hexOf(8), hexOf(8), hexOf(8)]),
  validForSeconds: uint32,
  nonceBlocks: uint32,
  allowVlek: z.boolean(),
  guestSvn: uint32,
  guestSet: bits,
  guestClear: bits,
  platformSet: bits,
  platformClear: bits,
  hostData: hexOf(32),
  idKey: hexOf(32),
});

/** @throws ConfigurationError POLICY_SNP naming the member */
export function parseChainSnpPolicy(json: unknown): ChainSnpPolicy {
  const result = ChainSnpPolicyJson.safeParse(json);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  throw unfit(issue.message, issue.path.join('.') || typeof json);
}
