/** The node's line to the control plane: it dials out, asks, and retries what a restart of the other side broke. */
import { ClientProxyFactory, Transport, type ClientTCP } from '@nestjs/microservices';
import { firstValueFrom, timeout } from 'rxjs';
import { CollateralError } from '#attestation';
import { isProblem, type Pattern } from '#libs/messaging';
import { plainText, refusalOf } from './refusal.js';

export interface ControlPlane {
  /**
   * @throws Rejection with the control plane's code when it refused; CollateralError CONTROL_PLANE_UNREACHABLE after
   *   the attempts are spent
   */
  send(pattern: Pattern, payload: object): Promise<unknown>;
  close(): void;
}

const unnamed = {
  code: 'CONTROL_PLANE_REFUSED',
  expected: 'the control plane to accept',
  got: 'a refusal',
  rule: 'dispatch protocol',
};
const attempts = 8;
const firstPauseMs = 100;
const answerWithinMs = 30_000;

export function connectControlPlane(host: string, port: number, auth: string): ControlPlane {
  let client = dial(host, port);
  return {
    async send(pattern: Pattern, payload: object): Promise<unknown> {
      for (let attempt = 1; ; attempt++) {
        try {
          return await firstValueFrom(
            client.send<unknown>(pattern, { auth, ...payload }).pipe(timeout({ each: answerWithinMs })),
          );
        } catch (error) {
          if (isProblem(error) && error.status < 500) throw refusalOf({ ...error }, unnamed);
          if (attempt === attempts) throw unreachable(host, port, error);
          client.close();
          client = dial(host, port);
          await new Promise((resolve) => setTimeout(resolve, firstPauseMs * 2 ** (attempt - 1)));
        }
      }
    },
    close: () => client.close(),
  };
}

function dial(host: string, port: number): ClientTCP {
  return ClientProxyFactory.create({ transport: Transport.TCP, options: { host, port } }) as ClientTCP;
}

function unreachable(host: string, port: number, error: unknown): CollateralError {
  return new CollateralError('CONTROL_PLANE_UNREACHABLE', {
    expected: `an answer from ${host}:${port}`,
    got: plainText(
      isProblem(error) ? `${error.status} ${error.code}` : error instanceof Error ? error.message : String(error),
      400,
    ),
    rule: 'dispatch protocol',
    action: 'check that the control plane runs; the node goes on asking',
  });
}
