/** Pages of the console on paper: whole identifiers, whole times, nothing to press, and where it is from. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pattern } from '#libs/wire';
import { hasBrowser } from '#test/browser';
import { startConsoleSite, type ConsoleSite } from '#test/console-site';
import type { KeyName } from '../../apps/control-plane/test/harness.js';
import {
  acquire,
  advanceTo,
  checkpoint,
  confirm,
  providers,
  refOf,
  register,
  shownInVain,
  submitFunded,
} from '../../apps/control-plane/test/job-fixture.js';

const kept = 'dist/screenshots';
/** A4 without its margins, at 96 to the inch. */
const paperWidth = 688;

describe.skipIf(!hasBrowser)('the console on paper', () => {
  let site: ConsoleSite;
  let jobId: string;
  let paidId: string;
  let nodeId: string;
  beforeAll(async () => {
    mkdirSync(kept, { recursive: true });
    site = await startConsoleSite();
    const { test } = site;
    nodeId = await register(test);
    const paid = await submitFunded(test);
    paidId = paid.jobId;
    await test.send(pattern.leaseAttested, { ...refOf(await acquire(test, nodeId)), ...shownInVain });
    const event = (name: string, data: Record<string, unknown>) => ({ escrowId: paid.escrowId, name, data });
    test.chain.mine(event('JobAccepted', { provider: providers.operator }));
    test.chain.mine(event('JobEnded', { state: '6', toProvider: '700000000000000000', toClient: '0' }));
    await confirm(test);
    const job = await submitFunded(test);
    jobId = job.jobId;
    const grant = await acquire(test, await register(test, 'milan-2'));
    await advanceTo(test, grant, 'running');
    for (let step = 0; step < 5; step += 1) {
      test.clock.pass(2);
      await test.send(pattern.leaseProgress, { ...refOf(grant), step, of: 6, loss: 2.3 / (step + 1), accuracy: 0.9 });
    }
    await checkpoint(test, grant, job, 0);
    const checks = [
      {
        name: '/dev/kvm',
        state: 'missing',
        found: 'absent',
        expected: 'a device',
        action: 'add the user to group kvm',
      },
      { name: 'kernel', state: 'ok', found: '6.12', expected: '6.11 or later', action: '' },
    ];
    const report = { kind: 'host', simulated: true, at: test.clock.now().toISOString(), policy: null, checks };
    await test.as('operator').post(`/v1/nodes/${nodeId}/preflight`, report).expect(201);
  });
  afterAll(async () => site?.stop());

  const pages: readonly (readonly [name: string, who: KeyName, path: () => string, whole: () => readonly string[]])[] =
    [
      [
        'job',
        'client',
        () => `/jobs/${jobId}`,
        () => [jobId, 'A checkpoint is kept after step 2', 'Must be committed by'],
      ],
      ['earnings', 'operator', () => '/earnings', () => [paidId, '0.7 ETH', '2026-01-01 00:00:']],
      [
        'node',
        'operator',
        () => `/nodes/${nodeId}`,
        () => [nodeId, 'TEST_DEBUG', 'add the user to group kvm', '6.11 or later'],
      ],
    ];

  it.each(pages)('%s', async (name, who, path, whole) => {
    const { page, complaints, goTo, close } = await site.open(who, { viewport: { width: paperWidth, height: 1000 } });
    await goTo(path());
    await page.emulateMedia({ media: 'print' });
    await page.waitForTimeout(300);
    expect(
      await page.locator('button:visible, .button:visible, input:visible, select:visible, nav:visible').count(),
    ).toBe(0);
    const pdf = await page.pdf({ format: 'A4' });
    writeFileSync(join(kept, `${who}-${name}.pdf`), pdf);
    await page.evaluate("dispatchEvent(new Event('beforeprint'))");
    expect(await page.locator('main details:not([open])').count()).toBe(0);
    const text = await page.evaluate(printedText);
    for (const one of whole()) expect(text).toContain(one);
    expect(text).toContain(`${site.url}/console${path()}, printed 2026-01-01 00:00:`);
    expect(text).not.toContain(' ago');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(paperWidth);
    await page.evaluate("dispatchEvent(new Event('afterprint'))");
    expect(complaints).toEqual([]);
    await close();
  });
});

/** What a reader of the paper sees: text that is shown, and what style sheets put in its place. */
const printedText = `(() => {
  const parts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  for (let at = walker.nextNode(); at !== null; at = walker.nextNode()) {
    if (at instanceof Text) {
      const box = at.parentElement;
      if (box.checkVisibility() && getComputedStyle(box).fontSize !== '0px') parts.push(at.data);
      continue;
    }
    const after = getComputedStyle(at, '::after').content;
    if (at.checkVisibility() && after.startsWith('"')) parts.push(after.slice(1, -1));
  }
  return parts.join('');
})()`;
