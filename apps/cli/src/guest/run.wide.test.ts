/**
 * The production image without SEV-SNP, booted under emulation: it refuses, never answers and powers off. That `dev` answers is
 * in test/e2e/guest-session.wide.test.ts.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { buildGuest, inputsCache } from '#libs/guest';
import { whyNoGuest } from '#test/no-guest';
import { runImage } from './run.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-boot-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const whyNot = await whyNoGuest('cpu');
describe.skipIf(whyNot !== null)('a guest', () => {
  it('of cpu ends with TSM_ABSENT where there is no SEV-SNP, and never answers', async () => {
    const out = join(folder, 'cpu');
    await buildGuest('cpu', out, { cache: inputsCache });
    const ran = await runImage({ folder: out, memory: 1024, accelerator: 'tcg', qemu: 'qemu-system-x86_64' });
    expect(ran).toMatchObject({ ok: false, openSeconds: null, answerBytes: null, status: 0 });
    expect(ran.refusal).toMatchObject({ code: 'TSM_ABSENT' });
    expect(ran.console.join('\n')).toContain('"init":"INIT_ENDED"');
  }, 600_000);
});
