import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { serveHealth, type HealthServer } from './health-server.js';
import { createLogger } from './logger.js';
import { watchNode } from './node-watch.js';

const servers: HealthServer[] = [];
afterEach(() => servers.splice(0).forEach((server) => server.close()));

async function served() {
  const lines: Record<string, unknown>[] = [];
  const sink = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  const watch = watchNode(['controlPlane', 'enclave'], 'a-node', 'info', createLogger('a-node', 'info', sink));
  const server = await serveHealth({ host: '127.0.0.1', port: 0 }, watch);
  servers.push(server);
  return { watch, lines, port: server.port, url: `http://127.0.0.1:${server.port}` };
}

describe('what the operator of a node sees', () => {
  it('W-M9 is live at once, and ready while all that it depends on is there', async () => {
    const { watch, url, lines } = await served();
    const ready = async () => {
      const response = await fetch(`${url}/health/ready`);
      return [response.status, await response.json()];
    };
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    expect(await ready()).toEqual([503, { status: 'away', controlPlane: 'away', enclave: 'away' }]);
    watch.depends('controlPlane', true);
    expect(await ready()).toEqual([503, { status: 'away', controlPlane: 'ok', enclave: 'away' }]);
    watch.depends('enclave', true);
    expect(await ready()).toEqual([200, { status: 'ok', controlPlane: 'ok', enclave: 'ok' }]);
    watch.depends('controlPlane', false);
    watch.depends('controlPlane', false);
    expect(await ready()).toEqual([503, { status: 'away', controlPlane: 'away', enclave: 'ok' }]);
    expect(lines.map(({ msg }) => msg)).toEqual(['controlPlane is there', 'enclave is there', 'controlPlane is away']);
  });

  it('W-M9 is counted, by event and by what failed', async () => {
    const { watch, url } = await served();
    watch.event('lease-taken', { job: '0x1' });
    watch.failure('broker');
    watch.leases(1);
    watch.escrows(3);
    watch.depends('enclave', true);
    const response = await fetch(`${url}/metrics`);
    const text = await response.text();
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0/);
    for (const line of [
      'veritrain_node_events_total{event="lease-taken"} 1',
      'veritrain_node_failures_total{what="broker"} 1',
      'veritrain_node_leases 1',
      'veritrain_node_escrows 3',
      'veritrain_node_dependency_up{on="enclave"} 1',
      'veritrain_node_dependency_up{on="controlPlane"} 0',
    ])
      expect(text).toContain(line);
    expect(text).toContain('process_cpu_seconds_total');
  });

  it('answers to nothing else, and holds no connection that asks nothing', async () => {
    const { url, port } = await served();
    const statuses = ['/', '/constructor', '/metrics/x'].map(async (path) => (await fetch(`${url}${path}`)).status);
    expect(await Promise.all(statuses)).toEqual([404, 404, 404]);
    expect((await fetch(`${url}/metrics`, { method: 'POST', body: 'x' })).status).toBe(405);
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    // What ends it may answer 408 first, and a socket that nobody reads never closes behind an answer.
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve));
  }, 60_000);
});
