/** A prover of a unit that is killed in every pass, and the bytes of the one after it. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const program = fileURLToPath(new URL('../testing/killed-prover-main.ts', import.meta.url));
const loader = ['--conditions=source', '--import', '@oxc-node/core/register'];

interface Run {
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
}

function run(variant: string, killAt?: number): Run {
  const args = [...loader, program, variant, ...(killAt === undefined ? [] : [`${killAt}`])];
  const { signal, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 });
  return { signal, stdout };
}

/** The first or the last call of each kind: every pass over the witness, its codewords and their foldings. */
function placesOf(calls: readonly string[], which: 'indexOf' | 'lastIndexOf'): number[] {
  return [...new Set(calls)].map((kind) => calls[which](kind));
}

describe.each([
  ['joint', 'indexOf'],
  ['separate', 'lastIndexOf'],
] as const)('a prover of a unit in two transactions, %s, %s of each pass', (variant, which) => {
  it('that was killed in every pass gives the same bytes', { timeout: 900_000 }, () => {
    const { digest, calls } = JSON.parse(run(variant).stdout) as { digest: string; calls: string[] };
    const places = placesOf(calls, which);
    expect(new Set(calls).size).toBeGreaterThan(12);
    for (const place of places) {
      const killed = run(variant, place);
      expect(killed, `call ${place}, ${calls[place]}`).toEqual({ signal: 'SIGKILL', stdout: '' });
    }
    const after = JSON.parse(run(variant).stdout) as { digest: string; calls: string[] };
    expect(after).toEqual({ digest, calls });
  });
});
