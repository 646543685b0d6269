/** Where nodes dial in: one set of handlers behind TCP and, where it is configured, NATS. */
import type { AddressInfo, Server } from 'node:net';
import type { MicroserviceOptions } from '@nestjs/microservices';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { limits } from '#libs/wire';
import type { DispatchConfig } from '../../core/config/transports.js';
import { Bus } from '../../core/events/bus.js';
import { DeadLetters } from '../../core/events/dead-letters.js';
import { DispatchOverNats, DispatchOverTcp } from './transport-servers.js';

/** @returns the TCP port */
export async function listenForNodes(
  app: NestExpressApplication,
  { host, port, tls }: DispatchConfig,
): Promise<number> {
  const letters = app.get(DeadLetters);
  const server = new DispatchOverTcp(
    {
      host,
      port,
      maxBufferSize: limits.frameCharactersMax,
      maxSendBufferSize: limits.frameCharactersMax,
      ...(tls === null
        ? {}
        : {
            tlsOptions: {
              ...{ ...tls, requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.3' as const },
              handshakeTimeout: 1000 * limits.unauthenticatedSecondsMax,
            },
          }),
    },
    letters,
  );
  const tcp = app.connectMicroservice<MicroserviceOptions>({ strategy: server }, { inheritAppConfig: true });
  await app.startAllMicroservices();
  letters.handlerOf = (pattern) => server.getHandlerByPattern(pattern);
  const { connection } = app.get(Bus);
  if (connection !== null) {
    const nats = app.connectMicroservice<MicroserviceOptions>(
      { strategy: new DispatchOverNats(connection, letters) },
      { inheritAppConfig: true },
    );
    // A server that is away keeps nobody waiting: nodes are heard there as soon as it is back.
    void nats.listen().catch(() => undefined);
  }
  return (tcp.unwrap<Server>().address() as AddressInfo).port;
}
