/** What dispatch messages travel on: TCP to one replica after the other, or NATS to whichever takes them. */
import { ClientProxyFactory, Transport, type ClientProxy } from '@nestjs/microservices';
import { natsOptions } from '#libs/wire';
import type { DispatchSettings } from './dispatch-settings.js';

export interface Connection {
  /** For people. */
  readonly name: string;
  current(): ClientProxy;
  /** Nothing came back over this client: the next one may be another. */
  gaveUp(client: ClientProxy): void;
  close(): void;
}

export async function openConnection(settings: DispatchSettings): Promise<Connection> {
  return settings.kind === 'nats' ? natsConnection(settings) : tcpConnection(settings);
}

/** A connection that fails is replaced by one to the next address. */
function tcpConnection({ addresses }: DispatchSettings & { kind: 'tcp' }): Connection {
  let at = 0;
  const dial = (): ClientProxy => {
    const { host, port, tls } = addresses[at % addresses.length]!;
    return ClientProxyFactory.create({
      transport: Transport.TCP,
      options: { host, port, ...(tls === null ? {} : { tlsOptions: { ...tls, rejectUnauthorized: true } }) },
    });
  };
  let client = dial();
  return {
    name: addresses.map(({ host, port }) => `${host}:${port}`).join(' or '),
    current: () => client,
    gaveUp(failed) {
      // Another message may have replaced it already.
      if (failed !== client) return;
      void client.close();
      at += 1;
      client = dial();
    },
    close: () => void client.close(),
  };
}

/** One client for good: it finds back to the server by itself. */
async function natsConnection({ nats }: DispatchSettings & { kind: 'nats' }): Promise<Connection> {
  const client = ClientProxyFactory.create({
    transport: Transport.NATS,
    options: await natsOptions(nats, 'veritrain node'),
  });
  return {
    name: nats.urls.join(' or '),
    current: () => client,
    gaveUp: () => undefined,
    close: () => void client.close(),
  };
}
