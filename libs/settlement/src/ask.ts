/** Getters of contracts that may not be what they are taken for. */
import { Contract, type Provider } from 'ethers';
import type { Artefact } from './contracts.js';

/** @returns the answer as text; what is no contract of this kind answers `nothing` */
export async function ask(
  provider: Provider,
  { abi }: Artefact,
  address: string,
  getter: string,
  ...given: unknown[]
): Promise<string> {
  try {
    return String(await new Contract(address, abi, provider).getFunction(getter)(...given));
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === 'BAD_DATA' || code === 'CALL_EXCEPTION') return 'nothing';
    throw error;
  }
}
