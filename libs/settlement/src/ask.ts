/** Calls getters at addresses where the expected contract may not stand. */
import { Contract, type Provider } from 'ethers';
import type { Artefact } from './contracts.js';

/** @returns the answer as text; `nothing` where no contract of this kind stands */
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
