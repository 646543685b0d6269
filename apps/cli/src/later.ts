/** An action that loads what it needs when it is taken, so that other commands of its group do without. */
export function later<Of extends unknown[]>(
  load: () => Promise<(...of: Of) => Promise<void> | void>,
): (...of: Of) => Promise<void> {
  return async (...of) => (await load())(...of);
}
