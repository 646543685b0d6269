/** Selectors of the contracts that a set may have beside those it needs. */
import { Interface, type Provider } from 'ethers';
import { ask } from './ask.js';
import { artefacts } from './contracts.js';
import { extensionNames, type ExtensionName } from './deployment.js';

/** Those that judge seals, by the selector that each says it answers to. @param at where each stands */
export async function extensionSelectors(
  at: Readonly<Partial<Record<ExtensionName, string>>>,
  provider: Provider,
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of extensionNames) {
    const address = at[name];
    if (address === undefined || !judgesSeals(name)) continue;
    found[await ask(provider, artefacts[name], address, 'SELECTOR')] = address;
  }
  return found;
}

/** The first half of a verifier names the selector of its seals, too, and judges none: entered, half a proof would do. */
function judgesSeals(name: ExtensionName): boolean {
  const abi = new Interface(artefacts[name].abi);
  return abi.hasFunction('SELECTOR') && abi.hasFunction('verify');
}
