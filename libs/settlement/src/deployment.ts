/** One set of contracts on one chain: the deployment file, and its schema for everything that holds one. */
import { z } from 'zod';
import { ConfigurationError } from '#attestation';

const Address = z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'an address: 0x and 40 hexadecimal digits');
const CodeHash = z.string().regex(/^0x[0-9a-f]{64}$/, '0x and 64 lower-case hexadecimal digits');

const addresses = {
  settlement: Address,
  registry: Address,
  router: Address,
  teeVerifier: Address,
  rules: Address,
  randao: Address,
  zkSoftmaxRelation: Address,
  zkSquaredErrorRelation: Address,
  zkStepVerifier: Address,
  groth16StepVerifier: Address,
  p384: Address,
  snpVerifier: Address,
  snpRegistrar: Address,
};

export const contractNames = Object.keys(addresses) as readonly ContractName[];
export type ContractName = keyof typeof addresses;

const ExtensionJson = z.strictObject({ address: Address, codeHash: CodeHash }).optional();

/** Contracts of settlement §4 that a set may have: seals in pieces, re-execution by auditors, ERC-8004. */
const extensions = { proofFacts: ExtensionJson, quorumReexecution: ExtensionJson, validationAdapter: ExtensionJson };

export const extensionNames = Object.keys(extensions) as readonly ExtensionName[];
export type ExtensionName = keyof typeof extensions;

export const DeploymentJson = z.strictObject({
  chainId: z.int().min(1),
  /** First block that can hold an event of these contracts. */
  fromBlock: z.int().min(0),
  ...addresses,
  /** keccak256 of each contract's code when it was deployed. */
  codeHashes: z.strictObject(
    Object.fromEntries(contractNames.map((name) => [name, CodeHash])) as Record<ContractName, typeof CodeHash>,
  ),
  extensions: z.strictObject(extensions).optional(),
});

export type Deployment = z.infer<typeof DeploymentJson>;

/** @throws ConfigurationError CHAIN_DEPLOYMENT naming the member */
export function parseDeployment(json: unknown): Deployment {
  const result = DeploymentJson.safeParse(json);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  throw new ConfigurationError('CHAIN_DEPLOYMENT', {
    expected: issue.message,
    got: issue.path.join('.') || typeof json,
    rule: 'settlement §4',
    action: 'use the file that `veritrain contracts deploy` wrote',
  });
}
