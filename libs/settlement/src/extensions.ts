/** Contracts that a set may have beside those it needs: what they are made from, and the selectors that they answer to. */
import { Interface, type Provider } from 'ethers';
import { toHex } from '#attestation';
import { ask } from './ask.js';
import { artefacts, type Artefact } from './contracts.js';
import { extensionNames, type ContractName, type Deployment, type ExtensionName } from './deployment.js';
import { zkSelector } from './zk-selector.js';

export interface ExtensionOptions {
  /** Takes step proofs in pieces: settlement §11. */
  readonly proofFacts?: boolean;
  /** Duties that enclaves of `threshold` hosts, live under the auditors' policy, meet by training again. */
  readonly quorumReexecution?: {
    /** 32 bytes, 0x-hexadecimal. */
    readonly policy: string;
    readonly minTier: number;
    readonly threshold: number;
  };
  /** Address of the ERC-8004 Validation Registry that hears how jobs ended. */
  readonly validationRegistry?: string;
}

type Addresses = Readonly<Record<ContractName, string>>;

/** Constructor arguments of those that are asked for. */
export function extensionArguments(
  { zkStepVerifier, registry, settlement }: Addresses,
  { proofFacts, quorumReexecution, validationRegistry }: ExtensionOptions,
): Partial<Record<ExtensionName, readonly unknown[]>> {
  const auditors = quorumReexecution;
  return {
    ...(proofFacts === true && { proofFacts: [zkStepVerifier, `0x${toHex(zkSelector)}`] }),
    ...(auditors && { quorumReexecution: [registry, auditors.policy, auditors.minTier, auditors.threshold] }),
    ...(validationRegistry !== undefined && { validationAdapter: [settlement, validationRegistry] }),
  };
}

/** What the extensions of a deployment say that they were made from. */
export async function extensionsOnChain(deployment: Deployment, provider: Provider): Promise<ExtensionOptions> {
  const { proofFacts, quorumReexecution, validationAdapter } = deployment.extensions ?? {};
  const number = async (address: string, getter: string): Promise<number> =>
    Number(await ask(provider, artefacts.quorumReexecution, address, getter)) || 0;
  const text = async (artefact: Artefact, address: string, getter: string, shape: RegExp): Promise<string> => {
    const answer = await ask(provider, artefact, address, getter);
    return shape.test(answer) ? answer : `0x${'00'.repeat(getter === 'policy' ? 32 : 20)}`;
  };
  return {
    proofFacts: proofFacts !== undefined,
    ...(quorumReexecution && {
      quorumReexecution: {
        policy: await text(artefacts.quorumReexecution, quorumReexecution.address, 'policy', /^0x[0-9a-f]{64}$/),
        minTier: await number(quorumReexecution.address, 'minTier'),
        threshold: await number(quorumReexecution.address, 'threshold'),
      },
    }),
    ...(validationAdapter && {
      validationRegistry: await text(
        ...([artefacts.validationAdapter, validationAdapter.address, 'registry', /^0x[0-9a-fA-F]{40}$/] as const),
      ),
    }),
  };
}

/** The extensions of a deployment that judge seals, by the selector that each says it answers to. */
export async function extensionSelectors(
  extensions: Deployment['extensions'],
  provider: Provider,
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of extensionNames) {
    const address = extensions?.[name]?.address;
    if (address === undefined || !new Interface(artefacts[name].abi).hasFunction('SELECTOR')) continue;
    found[await ask(provider, artefacts[name], address, 'SELECTOR')] = address;
  }
  return found;
}
