/** What tenants hear of their jobs: signed, at least once, under one id, and nothing of anybody else's. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { createServer as createSocketServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Webhook as Signer } from 'standardwebhooks';
import { JobJournal } from '../src/jobs/journal.js';
import { pausesSeconds, WebhookDeliverer } from '../src/webhooks/deliverer.js';
import { post } from '../src/webhooks/post.js';
import { isPublicAddress } from '../src/webhooks/public-address.js';
import { startTestPlane, type TestPlane } from './harness.js';
import { submitFunded } from './job-fixture.js';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}
interface Created {
  readonly id: string;
  readonly secret: string;
}
interface Delivery {
  readonly id: string;
  readonly attempts: number;
  readonly nextAt: string | null;
  readonly lastOutcome: string | null;
}

let test: TestPlane;
let receiver: Server;
let url: string;
let status = 200;
const received: Received[] = [];

beforeAll(async () => {
  test = await startTestPlane();
  await test.plane.app.get(WebhookDeliverer).onApplicationShutdown();
  receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      response.writeHead(status, status === 302 ? { location: `${url}/elsewhere` } : {}).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
});
afterAll(async () => {
  await test.stop();
  receiver.close();
});
beforeEach(async () => {
  status = 200;
  received.length = 0;
  for (const { id } of (await test.as('client').get('/v1/webhooks')).body as Created[]) await remove(id);
});

const deliver = (): Promise<void> => test.plane.app.get(WebhookDeliverer).deliver();
const remove = (id: string) => test.as('client').remove(`/v1/webhooks/${id}`).expect(204);

async function create(body: object): Promise<Created> {
  return (await test.as('client').post('/v1/webhooks', body).expect(201)).body as Created;
}

async function deliveries(id: string): Promise<Delivery[]> {
  return (await test.as('client').get(`/v1/webhooks/${id}/deliveries`).expect(200)).body as Delivery[];
}

const typeOf = ({ body }: Received): string => (JSON.parse(body) as { type: string }).type;

describe('delivery', () => {
  it('tells every change of the tenant’s jobs with a signature that Standard Webhooks accepts', async () => {
    const { secret } = await create({ url });
    const { jobId } = await submitFunded(test);
    await test.as('client').post(`/v1/jobs/${jobId}/cancel`, {}).expect(200);
    await deliver();
    expect(received.map(typeOf)).toContain('job.cancelled');
    const checker = new Signer(secret);
    const at = Math.floor(test.clock.now().getTime() / 1000);
    for (const { headers, body } of received) {
      expect(headers['webhook-timestamp']).toBe(String(at));
      const sent = {
        ...(headers as Record<string, string>),
        'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
      };
      expect(() => checker.verify(body, sent)).toThrow();
      expect(headers['webhook-signature']).toBe(checker.sign(headers['webhook-id'] as string, test.clock.now(), body));
      expect(headers['webhook-signature']).not.toBe(
        checker.sign(headers['webhook-id'] as string, test.clock.now(), `${body} `),
      );
    }
  });

  it('tells the states that were asked for, and nobody of another tenant', async () => {
    const { id } = await create({ url, states: ['cancelled'] });
    const foreign = (await test.as('otherClient').post('/v1/webhooks', { url }).expect(201)).body as Created;
    const { jobId } = await submitFunded(test);
    await test.as('client').post(`/v1/jobs/${jobId}/cancel`, {}).expect(200);
    await deliver();
    expect(received.map(typeOf)).toEqual(['job.cancelled']);
    expect(await deliveries(id)).toHaveLength(1);
    await test.as('client').get(`/v1/webhooks/${foreign.id}/deliveries`).expect(404);
    await test.as('client').remove(`/v1/webhooks/${foreign.id}`).expect(404);
    expect((await test.as('otherClient').get(`/v1/webhooks/${foreign.id}/deliveries`)).body).toEqual([]);
    await test.as('otherClient').remove(`/v1/webhooks/${foreign.id}`).expect(204);
  });

  it('is written with the change or not at all', async () => {
    const { id } = await create({ url });
    const { jobId } = await submitFunded(test);
    const before = (await deliveries(id)).length;
    const { dataSource } = test.plane.database;
    const failed = dataSource.transaction(async (manager) => {
      const journal = test.plane.app.get(JobJournal);
      await journal.apply(manager, await journal.lock(manager, jobId), 'cancel', {
        actor: 'test',
        tenant: 'acme',
        code: 'TEST',
      });
      throw new Error('rolled back');
    });
    await expect(failed).rejects.toThrow('rolled back');
    expect(await deliveries(id)).toHaveLength(before);
  });

  it('tries again under the same id and bytes, with growing pauses, and gives up', async () => {
    status = 500;
    const { id } = await create({ url, states: ['cancelled'] });
    const { jobId } = await submitFunded(test);
    await test.as('client').post(`/v1/jobs/${jobId}/cancel`, {}).expect(200);
    await deliver();
    await deliver();
    expect(received).toHaveLength(1);
    for (const seconds of pausesSeconds) {
      test.clock.pass(seconds);
      await deliver();
    }
    expect(received).toHaveLength(pausesSeconds.length + 1);
    expect(new Set(received.map(({ headers, body }) => `${headers['webhook-id'] as string} ${body}`)).size).toBe(1);
    expect(await deliveries(id)).toMatchObject([
      { attempts: pausesSeconds.length + 1, nextAt: null, lastOutcome: '500' },
    ]);
    status = 200;
    const [last] = await deliveries(id);
    await test.as('client').post(`/v1/webhooks/${id}/deliveries/${last!.id}/retry`, {}).expect(202);
    await deliver();
    expect(await deliveries(id)).toMatchObject([{ attempts: 1, nextAt: null, lastOutcome: '200' }]);
  });

  it('ends with a receiver that is gone, and follows nobody elsewhere', async () => {
    const { id } = await create({ url, states: ['cancelled'] });
    const cancelOne = async (): Promise<void> => {
      const { jobId } = await submitFunded(test);
      await test.as('client').post(`/v1/jobs/${jobId}/cancel`, {}).expect(200);
      await deliver();
    };
    status = 302;
    await cancelOne();
    expect(await deliveries(id)).toMatchObject([{ attempts: 1, lastOutcome: '302' }]);
    expect(received).toHaveLength(1);
    status = 410;
    await cancelOne();
    const [webhook] = (await test.as('client').get('/v1/webhooks')).body as { disabledAt: string | null }[];
    expect(webhook!.disabledAt).not.toBeNull();
    const count = received.length;
    test.clock.pass(3600);
    await cancelOne();
    expect(received).toHaveLength(count);
  });

  it('goes out once from two replicas that look at the same time', async () => {
    await create({ url, states: ['cancelled'] });
    const { jobId } = await submitFunded(test);
    await test.as('client').post(`/v1/jobs/${jobId}/cancel`, {}).expect(200);
    await Promise.all([deliver(), deliver(), deliver()]);
    expect(received).toHaveLength(1);
  });
});

describe('limits', () => {
  it('ten of a tenant', async () => {
    for (let count = 0; count < 10; count += 1) await create({ url });
    const answer = await test.as('client').post('/v1/webhooks', { url }).expect(409);
    expect(answer.body).toMatchObject({ code: 'WEBHOOK_QUOTA' });
  });

  it.each([
    ['ftp://example.org/', 'REQUEST_MALFORMED'],
    ['https://user:secret@example.org/', 'WEBHOOK_TARGET'],
    ['not a url', 'REQUEST_MALFORMED'],
  ])('%s is refused with %s', async (bad, code) => {
    expect((await test.as('client').post('/v1/webhooks', { url: bad })).body).toMatchObject({ code });
  });

  it.each([
    ...[
      '127.0.0.1',
      '10.1.2.3',
      '192.168.0.9',
      '172.31.255.255',
      '169.254.169.254',
      '100.64.0.1',
      '0.0.0.0',
      '224.0.0.1',
    ],
    ...['::1', '::', 'fe80::1', 'fc00::1', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '64:ff9b::a00:1', '2002:a00:1::'],
  ])('%s is no public address', (address) => expect(isPublicAddress(address)).toBe(false));

  it.each(['1.1.1.1', '8.8.8.8', '172.32.0.1', '2606:4700::1111'])('%s is one', (address) =>
    expect(isPublicAddress(address)).toBe(true),
  );

  it.each([
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n', 101],
    ['nothing', '', 'ECONNRESET'],
  ])('who answers with %s is told of, and not waited for', async (_what, answer, expected) => {
    const odd = createSocketServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(answer));
    });
    await new Promise<void>((resolve) => odd.listen(0, '127.0.0.1', resolve));
    const { port } = odd.address() as AddressInfo;
    const sent = post({ url: `http://127.0.0.1:${port}/hook`, headers: {}, body: '{}', mayBePrivate: true });
    expect(await sent.catch(({ code }: { code: string }) => code)).toBe(expected);
    odd.close();
  });

  it('nothing is sent to an address that is not public, by number or by name', async () => {
    const { port } = receiver.address() as AddressInfo;
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '2130706433', '0x7f.1']) {
      const sent = post({ url: `http://${host}:${port}/hook`, headers: {}, body: '{}', mayBePrivate: false });
      await expect(sent).rejects.toMatchObject({ code: 'WEBHOOK_TARGET' });
    }
    expect(received).toEqual([]);
  });
});
