/** Real images booted under emulation: `dev` reaches `open`, `cpu` without SEV-SNP refuses, never answers and powers off. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { buildGuest, inputsCache } from '#libs/guest';
import { whyNoGuest } from '#test/no-guest';
import { runImage } from './run.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-boot-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const whyNot = await whyNoGuest('cpu', 'dev');
describe.skipIf(whyNot !== null)('a guest', () => {
  const bootedFrom = async (flavour: 'cpu' | 'dev') => {
    const out = join(folder, flavour);
    await buildGuest(flavour, out, { cache: inputsCache });
    return runImage({ folder: out, memory: 1024, accelerator: 'tcg', qemu: 'qemu-system-x86_64' });
  };

  it('of dev answers open, says that it is simulated and nothing of its program, and powers off with its session', async () => {
    const ran = await bootedFrom('dev');
    expect(ran).toMatchObject({ ok: true, flavour: 'dev', refusal: null, status: 0 });
    expect(ran.answerBytes).toBeGreaterThan(100);
    const own = ran.console
      .filter((line) => line.startsWith('{'))
      .map((line) => (JSON.parse(line) as { init: string }).init);
    expect(own).toEqual(['SIMULATED', 'INIT_NO_DEVICE']);
  }, 600_000);

  it('of cpu ends with TSM_ABSENT where there is no SEV-SNP, and never answers', async () => {
    const ran = await bootedFrom('cpu');
    expect(ran).toMatchObject({ ok: false, openSeconds: null, answerBytes: null, status: 0 });
    expect(ran.refusal).toMatchObject({ code: 'TSM_ABSENT' });
    expect(ran.console.join('\n')).toContain('"init":"INIT_ENDED"');
  }, 600_000);
});
