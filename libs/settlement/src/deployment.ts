/** One set of contracts on one chain: the deployment file, what it was made from, and their schemas. */
import { z } from 'zod';
import { ConfigurationError } from '#attestation/base';
import { chainKinds } from './chain-kinds.js';

const Address = z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'an address: 0x and 40 hexadecimal digits');
const Word = z.string().regex(/^0x[0-9a-f]{64}$/, '0x and 64 lower-case hexadecimal digits');
const Selector = z.string().regex(/^0x[0-9a-f]{8}$/, '0x and 8 lower-case hexadecimal digits');

/** In the order in which they are made: each knows only those before it. contracts/SPEC.md §4. */
export const contractNames = [
  ...(['roles', 'router', 'p384', 'snpVerifier', 'snpRegistry', 'keys', 'randao', 'rules', 'duties'] as const),
  ...(['delivery', 'settlement', 'zkSoftmaxRelation', 'zkSquaredErrorRelation', 'zkStepVerifier'] as const),
  'groth16StepVerifier',
] as const;
export type ContractName = (typeof contractNames)[number];

/**
 * Contracts that a set may have: the relations of units, seals in pieces, proofs in two
 * transactions, re-execution by auditors, ERC-8004.
 */
export const extensionNames = [
  'zkUnitMatmuls',
  'zkUnitSoftmaxRelation',
  'zkUnitSquaredErrorRelation',
  'proofFacts',
  'zkProofHead',
  'zkSplitVerifier',
  'quorumReexecution',
  'validationAdapter',
] as const;
export type ExtensionName = (typeof extensionNames)[number];

export const roleNames = ['governor', 'guardian', 'treasury', 'revoker'] as const;
export type RoleName = (typeof roleNames)[number];

const accounts = { governor: Address, guardian: Address, treasury: Address, revoker: Address };

/** As in a profile of a client, where a chain's id does not tell. */
export const ChainKindJson = z.enum(chainKinds);

/** Everything that the addresses of a set follow from. */
const setup = {
  chainId: z.int().min(1),
  /** Decides the floors of TermsRules and the defaults of clients. */
  kind: ChainKindJson,
  salt: Word,
  ...accounts,
  /** ERC-20 tokens beside the native coin. */
  tokens: z.array(Address).max(64),
  /** Whether the Groth16 verifier takes keys of a development setup, whose maker can forge proofs. */
  developmentKeys: z.boolean(),
  /** Intermediate keys of simulated vendors beside AMD's own; none outside tests. */
  simulatedIssuers: z
    .array(z.strictObject({ modulusHash: Word, product: z.int().min(1).max(3), vlek: z.boolean() }))
    .max(8),
  extensions: z.strictObject({
    /** Takes step proofs in pieces: contracts/SPEC.md §11. */
    proofFacts: z.boolean().optional(),
    /** Verifies proofs of three levels in two transactions; files of sets from before have none. */
    splitProofs: z.boolean().optional(),
    /** Verifies proofs of units of several segments; files of sets from before have none. */
    units: z.boolean().optional(),
    /** Duties that SNP enclaves on `threshold` machines, under the auditors' policy, meet by training again. */
    quorumReexecution: z.strictObject({ snpPolicy: Word, threshold: z.int().min(2).max(32) }).optional(),
    /** The ERC-8004 Validation Registry that hears how jobs ended. */
    validationRegistry: Address.optional(),
  }),
};
export const SetupJson = z.strictObject(setup);
export type Setup = z.infer<typeof SetupJson>;

/** What a reader expects of a set, by a file of his own. */
const ExpectationJson = z.strictObject({
  ...setup,
  /** The governor need not be a contract: for chains on which nothing is at stake. */
  governorMayBeAccount: z.boolean().optional(),
  /** What has changed since the deployment; absent: nothing. */
  since: z
    .strictObject({
      ...Object.fromEntries(roleNames.map((name) => [name, Address.optional()])),
      tokens: z.array(Address).max(64).optional(),
      /** Added by the governor later: selector to verifier. */
      selectors: z.record(Selector, Address).optional(),
      /** Retired by the guardian. */
      tombstoned: z.array(Selector).max(64).optional(),
      paused: z.boolean().optional(),
    })
    .optional(),
});
export type Expectation = z.infer<typeof ExpectationJson>;

const Extension = z.strictObject({ address: Address, codeHash: Word }).optional();
const named = <N extends string, T extends z.ZodType>(names: readonly N[], of: T): Record<N, T> =>
  Object.fromEntries(names.map((name) => [name, of])) as Record<N, T>;

export const DeploymentJson = z.strictObject({
  chainId: z.int().min(1),
  /** First block that can hold an event of these contracts. */
  fromBlock: z.int().min(0),
  ...named(contractNames, Address),
  /** keccak256 of each contract's code when it was deployed. */
  codeHashes: z.strictObject(named(contractNames, Word)),
  extensions: z.strictObject(named(extensionNames, Extension)).optional(),
  setup: SetupJson,
});
export type Deployment = z.infer<typeof DeploymentJson>;

/** @throws ConfigurationError CHAIN_DEPLOYMENT naming the member */
export function parseDeployment(json: unknown): Deployment {
  return parse(DeploymentJson, json, 'use the file that `veritrain contracts deploy` wrote');
}

/** @throws ConfigurationError CHAIN_DEPLOYMENT naming the member */
export function parseExpectation(json: unknown): Expectation {
  return parse(ExpectationJson, json, 'write down what the set must be made from: `veritrain contracts plan`');
}

function parse<T>(schema: z.ZodType<T>, json: unknown, action: string): T {
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  throw new ConfigurationError('CHAIN_DEPLOYMENT', {
    expected: issue.message,
    got: issue.path.join('.') || typeof json,
    rule: 'contracts/SPEC.md §4',
    action,
  });
}
