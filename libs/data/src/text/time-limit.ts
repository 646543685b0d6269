/** Ends what runs too long. A tokenizer's file brings patterns whose match may take longer than anybody waits. */
import { createContext, Script } from 'node:vm';

const script = new Script('act()');

/** @throws what `act` throws; Error ERR_SCRIPT_EXECUTION_TIMEOUT after `milliseconds`, even inside a pattern's match */
export function withTimeLimit<T>(milliseconds: number, act: () => T): T {
  return script.runInContext(createContext({ act }), { timeout: milliseconds }) as T;
}
