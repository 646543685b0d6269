/** How nodes dial in: mutual TLS whose certificate belongs to the API key, NATS that lets a node do nothing but ask. */
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect as connectTcp, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { connect as connectNats } from '@nats-io/transport-node';
import { ClientProxyFactory, Transport, type ClientProxy } from '@nestjs/microservices';
import { firstValueFrom, timeout } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { natsOptions, pattern, protocolVersion, type Pattern } from '#libs/wire';
import {
  makeDispatchCertificates,
  type DispatchCertificates,
} from '../../apps/cli/src/system/dispatch-certificates.js';
import { freePort } from '#libs/process';
import { openNats } from '../../apps/cli/src/system/nats.js';
import type { RunningProcess } from '../../apps/cli/src/system/process.js';
import { findServer } from '../../apps/cli/src/system/server-process.js';
import { readConfig } from '../../apps/control-plane/src/core/config/config.js';
import { Bus } from '../../apps/control-plane/src/core/events/bus.js';
import { keys, startTestPlane, type TestPlane } from '../../apps/control-plane/test/harness.js';
import { capabilities, providers } from '../../apps/control-plane/test/job-fixture.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-transports-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const text = (path: string): string => readFileSync(path, 'utf8');
const node = { name: 'n', provider: providers.operator, capabilities, protocol: protocolVersion };
const ask = <T>(client: ClientProxy, name: Pattern, payload: object): Promise<T> =>
  firstValueFrom(client.send<T>(name, payload).pipe(timeout(15_000)));

/** `once` would reject at the error that comes before. */
const closed = (socket: Socket): Promise<void> => new Promise((resolve) => void socket.once('close', () => resolve()));

describe('TCP with mutual TLS', () => {
  let own: DispatchCertificates;
  let foreign: DispatchCertificates;
  let plane: TestPlane;
  const open: ClientProxy[] = [];
  beforeAll(async () => {
    own = await makeDispatchCertificates(join(folder, 'own'), ['127.0.0.1'], ['operator', 'otherOperator']);
    foreign = await makeDispatchCertificates(join(folder, 'foreign'), ['127.0.0.1'], ['operator']);
    const { key, cert, ca } = own.server;
    const tls = { key: text(key), cert: text(cert), ca: text(ca) };
    plane = await startTestPlane({ dispatch: { host: '127.0.0.1', port: 0, tls } });
  });
  afterAll(async () => {
    for (const client of open) void client.close();
    await plane?.stop();
  });

  function dial(certificates: DispatchCertificates, id: string): ClientProxy {
    const { key, cert } = certificates.nodes[id]!;
    const tlsOptions = { key: text(key), cert: text(cert), ca: text(own.server.ca) };
    const options = { host: '127.0.0.1', port: plane.plane.dispatchPort, tlsOptions };
    const client = ClientProxyFactory.create({ transport: Transport.TCP, options });
    open.push(client);
    return client;
  }

  it('takes a key with its own certificate, and no other key with it', async () => {
    const client = dial(own, 'operator');
    expect(await ask(client, pattern.nodeRegister, { auth: keys.operator, ...node })).toHaveProperty('nodeId');
    const stolen = { auth: keys.otherOperator, ...node, provider: providers.otherOperator };
    await expect(ask(client, pattern.nodeRegister, stolen)).rejects.toMatchObject({ code: 'CERTIFICATE_KEY' });
    expect(await ask(dial(own, 'otherOperator'), pattern.nodeRegister, stolen)).toHaveProperty('nodeId');
  });

  const refused = async (options: ConnectionOptions): Promise<string> => {
    const socket: TLSSocket = connectTls({ host: '127.0.0.1', port: plane.plane.dispatchPort, ...options });
    socket.on('error', () => undefined);
    let answered = '';
    socket.on('data', (chunk: Buffer) => (answered += chunk.toString()));
    socket.write('2#{}');
    await closed(socket);
    return answered;
  };

  it('hears nobody without a certificate, with one of another authority, in plain, or in an old protocol', async () => {
    const ca = text(own.server.ca);
    expect(await refused({ ca })).toBe('');
    const { key, cert } = foreign.nodes['operator']!;
    expect(await refused({ ca, key: text(key), cert: text(cert) })).toBe('');
    const mine = { key: text(own.nodes['operator']!.key), cert: text(own.nodes['operator']!.cert) };
    expect(await refused({ ca, ...mine, maxVersion: 'TLSv1.2' })).toBe('');
    const plain = connectTcp(plane.plane.dispatchPort, '127.0.0.1');
    plain.on('error', () => undefined);
    plain.write(`64#${JSON.stringify({ pattern: pattern.nodeRegister, data: {}, id: '1' })}`);
    await closed(plain);
    expect(await ask(dial(own, 'operator'), pattern.nodeRegister, { auth: keys.operator, ...node })).toHaveProperty(
      'nodeId',
    );
  });

  it('a node does not speak to a control plane that another authority vouches for', async () => {
    const { key, cert } = own.nodes['operator']!;
    const tls = { key: text(key), cert: text(cert), ca: text(foreign.server.ca) };
    const socket = connectTls({ host: '127.0.0.1', port: plane.plane.dispatchPort, ...tls });
    const [error] = (await once(socket, 'error')) as [Error];
    expect(error.message).toMatch(/certificate/);
  });
});

describe('settings', () => {
  const code = (environment: Record<string, string>): string => {
    try {
      readConfig(environment);
      return 'none';
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  it.each([
    ['CONFIG_PLAIN', { VERITRAIN_DISPATCH_HOST: '0.0.0.0' }],
    ['CONFIG_PLAIN', { VERITRAIN_DISPATCH_HOST: '127.0.0.1.example' }],
    ['CONFIG_PLAIN', { NATS_URL: 'nats://192.0.2.1:4222' }],
    ['CONFIG_NATS', { NATS_URL: 'http://127.0.0.1' }],
    ['CONFIG_NATS', { NATS_URL: 'nats://user:password@127.0.0.1' }],
    ['CONFIG_TLS', { VERITRAIN_DISPATCH_TLS_KEY: '/nowhere' }],
    ['CONFIG_TLS', { NATS_URL: 'nats://127.0.0.1', VERITRAIN_NATS_NKEY: '/nowhere' }],
    ['none', { NATS_URL: 'nats://127.0.0.1:4222,tls://nats.example:4222' }],
    ['none', { VERITRAIN_DISPATCH_HOST: '::1' }],
  ])('%s for %j', (expected, environment) => {
    expect(code(environment)).toBe(expected);
  });
});

describe('versions of the protocol', () => {
  let plane: TestPlane;
  beforeAll(async () => {
    plane = await startTestPlane();
  });
  afterAll(async () => plane?.stop());

  it('neighbours speak, others are told to upgrade, those of the former release too and who says nothing', async () => {
    for (const protocol of [protocolVersion - 1, protocolVersion, protocolVersion + 1]) {
      expect(await plane.send(pattern.nodeRegister, { ...node, protocol })).toMatchObject({
        protocol: protocolVersion,
      });
    }
    for (const protocol of [protocolVersion + 2, 2, undefined]) {
      const other = plane.send(pattern.nodeRegister, { ...node, protocol });
      await expect(other).rejects.toMatchObject({ code: 'PROTOCOL_VERSION', status: 422 });
    }
    await expect(plane.send(pattern.nodeRegister, { ...node, protocol: 0 })).rejects.toMatchObject({ status: 400 });
  });
});

const hasNats = ((): boolean => {
  try {
    return findServer('nats-server', '') !== '';
  } catch {
    return false;
  }
})();
if (!hasNats) console.warn('SKIPPED: nkeys and permissions need nats-server 2.9 or newer on this machine');

describe.runIf(hasNats)('NATS with nkeys', () => {
  let server: RunningProcess;
  let plane: TestPlane;
  const seeds = {
    replica: join(folder, 'replica.test-nkey'),
    one: join(folder, 'one.test-nkey'),
    two: join(folder, 'two.test-nkey'),
  };
  let urls: string[];
  beforeAll(async () => {
    const port = await freePort();
    urls = [`nats://127.0.0.1:${port}`];
    const parties = [
      { seedFile: seeds.replica, role: 'control-plane' as const },
      { seedFile: seeds.one, role: 'node' as const },
      { seedFile: seeds.two, role: 'node' as const },
    ];
    const nats = await openNats(join(folder, 'nats'), port, join(folder, 'nats.log'), parties);
    server = await nats.start();
    plane = await startTestPlane({ nats: { urls, seed: text(seeds.replica).trim(), ca: null } });
    await plane.plane.app.get(Bus).connection;
  });
  afterAll(async () => {
    await plane?.stop();
    await server?.stop();
  });
  const optionsOf = (seedFile: string | null) =>
    natsOptions({ urls, seed: seedFile === null ? null : text(seedFile).trim(), ca: null }, 'test');

  it('a node asks and is answered; without a key, or with one that is not listed, nobody gets in', async () => {
    const client = ClientProxyFactory.create({ transport: Transport.NATS, options: await optionsOf(seeds.one) });
    expect(await ask(client, pattern.nodeRegister, { auth: keys.operator, ...node })).toHaveProperty('nodeId');
    await client.close();
    const once = { waitOnFirstConnect: false, reconnect: false, maxReconnectAttempts: 0 };
    await expect(connectNats({ ...(await optionsOf(null)), ...once })).rejects.toThrow(/authorization|authentication/i);
    const stranger = await natsOptions({ urls, seed: strangerSeed, ca: null }, 'test');
    await expect(connectNats({ ...stranger, ...once })).rejects.toThrow(/authorization|authentication/i);
  });

  it('a node hears neither what others ask nor what they are answered, and cannot answer, wake or store', async () => {
    const spy = await connectNats(await optionsOf(seeds.two));
    const heard: string[] = [];
    const denied: string[] = [];
    void (async () => {
      for await (const status of spy.status()) if (status.type === 'error') denied.push(String(status.error));
    })();
    const callback = (_error: unknown, message: { subject?: string } | undefined): void => {
      if (message?.subject !== undefined) heard.push(message.subject);
    };
    for (const subject of ['>', 'lease.>', 'node.>', '_INBOX.>', 'veritrain.>', '$JS.API.>'])
      spy.subscribe(subject, { callback });
    for (const subject of [
      '_INBOX.x.y',
      'veritrain.wake.dispatch',
      'veritrain.event.x',
      '$JS.API.STREAM.PURGE.VERITRAIN_EVENTS',
    ]) {
      spy.publish(subject, '{}');
    }
    const client = ClientProxyFactory.create({ transport: Transport.NATS, options: await optionsOf(seeds.one) });
    await ask(client, pattern.nodeRegister, { auth: keys.operator, ...node });
    await client.close();
    await expect.poll(() => denied.length).toBeGreaterThanOrEqual(10);
    expect(heard).toEqual([]);
    await spy.close();
  });
});

const strangerSeed = 'SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY';
