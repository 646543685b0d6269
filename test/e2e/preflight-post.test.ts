/** From a host to its operator's page: what a preflight finds is posted, and the page says what to do about it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { preflightLimits } from '#libs/wire';
import { hasBrowser } from '#test/browser';
import { startConsoleSite, type ConsoleSite } from '#test/console-site';
import { writeFakeQemu } from '#test/fake-qemu';
import { writeMadeHost } from '#test/made-host';
import { faultsOf, geometryOf } from '#test/page-faults';
import { runCommand } from '#test/run-command';
import { keys, type KeyName } from '../../apps/control-plane/test/harness.js';
import { register } from '../../apps/control-plane/test/job-fixture.js';

const script = `<img src=x onerror=alert(1)>"'><script>alert(1)</script>`;
const folder = mkdtempSync(join(tmpdir(), 'veritrain-preflight-post-'));
const at = (...parts: readonly string[]): string => join(folder, ...parts);

describe.skipIf(!hasBrowser)('preflight', () => {
  let site: ConsoleSite;
  let nodeId: string;
  beforeAll(async () => {
    writeFakeQemu(at('qemu'));
    site = await startConsoleSite();
    nodeId = await register(site.test);
  });
  afterAll(async () => {
    await site?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs `host preflight --post` on a made-up host, as its operator or somebody else. */
  async function post(change: Readonly<Record<string, string | null>>, who: KeyName = 'operator', node = nodeId) {
    writeFileSync(at('key'), keys[who], { mode: 0o600 });
    return runCommand(
      ...['host', 'preflight', '--root', writeMadeHost(at('root'), change), '--qemu', at('qemu'), '--dir', folder],
      ...['--offline', '--cache', at('cache'), '--post', node, '--url', site.url, '--api-key', at('key')],
    );
  }
  const posted = async () =>
    (await site.test.as('operator').get(`/v1/nodes/${nodeId}/preflight`).expect(200)).body as {
      ok: boolean;
      checks: { name: string; state: string; found: string; action: string }[];
    }[];

  it('posts what it prints, check by check, and still says by its status what is missing', async () => {
    const { code, json } = await post({ 'dev/kvm': null });
    expect(code).toBe(1);
    const [newest] = await posted();
    expect(newest!.ok).toBe(false);
    expect(newest!.checks).toEqual(json['checks']);
    expect(newest!.checks.find(({ name }) => name === '/dev/kvm')).toMatchObject({ state: 'missing' });
  });

  it('cuts what a host says at length, and makes blanks of what hides in it', async () => {
    const model = `${script} \u202Efit\u200B ${'x'.repeat(preflightLimits.text)}`;
    await post({ 'proc/cpuinfo': `vendor_id : AuthenticAMD\nmodel name : ${model}\n` });
    const { found } = (await posted())[0]!.checks.find(({ name }) => name === 'processor')!;
    expect(found.startsWith(`${script}  fit `)).toBe(true);
    expect([found.length, found.at(-1)]).toEqual([preflightLimits.text, '…']);
  });

  it('says who may not post, and where there is no such node', async () => {
    expect((await post({}, 'otherOperator')).json).toMatchObject({ error: { code: 'NODE_UNKNOWN' } });
    expect((await post({}, 'client')).json).toMatchObject({ error: { code: 'ROLE_FORBIDDEN' } });
    expect((await post({}, 'operator', 'mine')).json).toMatchObject({ error: { code: 'USAGE' } });
  });

  it('stands on the page of the node: found, expected, what to do and when, as text', async () => {
    await post({ 'dev/kvm': null, 'proc/cpuinfo': `vendor_id : x\nmodel name : ${script}\n` });
    const { page, complaints, goTo, close } = await site.open('operator');
    await goTo(`/nodes/${nodeId}`);
    const section = page.getByRole('region', { name: 'Preflight, as its host says' });
    await section.getByText('2 missing').waitFor();
    const text = (await section.textContent())!;
    expect(text).toContain(`Found: ${script}.`);
    expect(text).toMatch(/\/dev\/kvm.*Expected: a device that this user may open.*What to do: .*group kvm/);
    expect(text).toContain('What guests take, now, posted with key operator');
    expect(text).toContain(`--post ${nodeId}`);
    expect(await section.locator('.state.met').count()).toBe(0);
    expect(await page.locator('main img, main script, [onerror]').count()).toBe(0);
    expect(await faultsOf(page)).toEqual([]);
    await page.setViewportSize({ width: 320, height: 800 });
    expect(await geometryOf(page)).toEqual({ width: 320, small: 0 });
    expect(complaints).toEqual([]);
    await close();
  });
});
