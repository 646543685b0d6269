/** Whether guests can be booted here, for tests that say so and skip where they cannot. */
import { fetchGuest, inputsCache, qemuVersion } from '#libs/guest';

/** @returns the code of what is missing; null: QEMU and the locked inputs of these flavours are there */
export async function whyNoGuest(...flavours: readonly ('cpu' | 'dev')[]): Promise<string | null> {
  try {
    await qemuVersion('qemu-system-x86_64');
    for (const flavour of flavours) await fetchGuest(flavour, { cache: inputsCache });
    return null;
  } catch (error) {
    const code = (error as { code?: string }).code ?? String(error);
    process.stderr.write(`skipped: no guest is booted: ${code}\n`);
    return code;
  }
}
