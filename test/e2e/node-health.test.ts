/** Host agent and prover worker as their operators see them: lines in their logs, metrics and health on a port of their own. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmbedded, type EmbeddedSystem } from '../../apps/cli/src/system/embedded.js';
import { freePort } from '#libs/process';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-health-'));
const nodes = [
  ['host-agent', 'simulated-node-1/host.json', { status: 'ok', controlPlane: 'ok', enclave: 'ok' }],
  ['prover-1', 'prover-1/prover.json', { status: 'ok', controlPlane: 'ok' }],
] as const;
const urls = new Map<string, string>();
let system: EmbeddedSystem;

beforeAll(async () => {
  system = await startEmbedded({
    folder: join(folder, 'system'),
    vendorFile: join(tmpdir(), 'veritrain-test-simulated-vendor.json'),
    controlPlane: { VERITRAIN_LEASE_SECONDS: '4', VERITRAIN_HEARTBEAT_SECONDS: '1' },
    provers: [{ threads: 1 }],
  });
  for (const [app, file] of nodes) {
    const path = join(folder, 'system', file);
    const port = await freePort();
    const settings = JSON.parse(readFileSync(path, 'utf8')) as object;
    writeFileSync(path, JSON.stringify({ ...settings, health: { port } }));
    urls.set(app, `http://127.0.0.1:${port}`);
    await system.restart(app);
  }
}, 600_000);
afterAll(async () => {
  await system?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function ready(app: string): Promise<readonly [number, unknown]> {
  const response = await fetch(`${urls.get(app)}/health/ready`);
  return [response.status, await response.json()];
}

describe('a node', () => {
  it.each(nodes)('W-M9 %s: is live and ready, is counted, and says in its log who it is', async (app, _file, parts) => {
    expect((await fetch(`${urls.get(app)}/health/live`)).status).toBe(200);
    expect(await ready(app)).toEqual([200, parts]);
    expect(await (await fetch(`${urls.get(app)}/metrics`)).text()).toContain(
      'veritrain_node_events_total{event="registered"} 1',
    );
    const log = readFileSync(join(folder, 'system', 'logs', `${app}.log`), 'utf8');
    expect(log).toMatch(/"msg":"registered"/);
  });

  it('W-M9 is not ready while the control plane is away, and again when it is back', async () => {
    await system.kill('control-plane');
    const away = nodes.map(([app]) => expect.poll(async () => (await ready(app))[0]).toBe(503));
    await Promise.all(away);
    await system.start('control-plane');
    for (const [app, , parts] of nodes) await expect.poll(() => ready(app)).toEqual([200, parts]);
  });

  it('of a host says what stake of its account it leaves when its operator ends it', async () => {
    const log = () => readFileSync(join(folder, 'system', 'logs', 'host-agent.log'), 'utf8');
    process.kill(system.pidOf('host-agent'), 'SIGTERM');
    const native = `0x${'00'.repeat(20)}`;
    await expect.poll(log, { timeout: 30_000 }).toContain(`"coin":"${native}","wei":"0","lockedWei":"0"`);
    expect(log()).toContain('"msg":"stake-kept"');
    await system.start('host-agent');
  });
});
