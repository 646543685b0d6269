/**
 * The node's connection to the control plane: it dials out, asks, and asks again what a lost message or a restart of the other
 * side left unanswered. Any replica answers; every message may arrive twice.
 */
import { firstValueFrom, timeout } from 'rxjs';
import { CollateralError } from '#attestation/base';
import { isProblem, type Pattern } from '#libs/wire';
import type { Connection } from './connection.js';
import { plainText, refusalOf } from './refusal.js';

export interface ControlPlane {
  /**
   * @throws Rejection with the control plane's code when it refused; CollateralError CONTROL_PLANE_UNREACHABLE after
   *   the attempts are spent
   */
  send(pattern: Pattern, payload: object, patience?: Patience): Promise<unknown>;
  close(): void;
}

export interface Patience {
  readonly attempts: number;
  /** For each attempt. */
  readonly answerWithinMs: number;
}

const unnamed = {
  code: 'CONTROL_PLANE_REFUSED',
  expected: 'the control plane to accept',
  got: 'a refusal',
  rule: 'dispatch protocol',
};
const attempts = 8;
const firstPauseMs = 100;

export function connectControlPlane(connection: Connection, auth: string, answerWithinMs: number): ControlPlane {
  return {
    async send(pattern: Pattern, payload: object, patience: Patience = { attempts, answerWithinMs }): Promise<unknown> {
      for (let attempt = 1; ; attempt++) {
        const client = connection.current();
        try {
          const answers = client.send<unknown>(pattern, { auth, ...payload });
          return await firstValueFrom(answers.pipe(timeout({ each: patience.answerWithinMs })));
        } catch (error) {
          if (isProblem(error) && error.status < 500) throw refusalOf({ ...error }, unnamed);
          connection.gaveUp(client);
          if (attempt >= patience.attempts) throw unreachable(connection.name, error);
          await new Promise((resolve) => setTimeout(resolve, firstPauseMs * 2 ** (attempt - 1)));
        }
      }
    },
    close: () => connection.close(),
  };
}

function unreachable(name: string, error: unknown): CollateralError {
  return new CollateralError('CONTROL_PLANE_UNREACHABLE', {
    expected: `an answer from ${name}`,
    got: plainText(
      isProblem(error) ? `${error.status} ${error.code}` : error instanceof Error ? error.message : String(error),
      400,
    ),
    rule: 'dispatch protocol',
    action: 'check that the control plane runs; the node goes on asking',
  });
}
