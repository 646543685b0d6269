/**
 * The node's connection to the control plane: it dials out, asks, and asks again what a lost message or a restart of the other
 * side left unanswered. Any replica answers; every message may arrive twice.
 */
import { firstValueFrom, timeout } from 'rxjs';
import { CollateralError } from '#attestation/base';
import { retry } from '#libs/process';
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
    send(pattern: Pattern, payload: object, patience: Patience = { attempts, answerWithinMs }): Promise<unknown> {
      const ask = async (): Promise<unknown> => {
        const client = connection.current();
        try {
          const answers = client.send<unknown>(pattern, { auth, ...payload });
          return await firstValueFrom(answers.pipe(timeout({ each: patience.answerWithinMs })));
        } catch (error) {
          if (isProblem(error) && error.status < 500) throw refusalOf({ ...error }, unnamed);
          connection.gaveUp(client);
          throw unreachable(connection.name, error);
        }
      };
      const isWorthAgain = (error: unknown): boolean => error instanceof CollateralError;
      return retry(ask, { attempts: patience.attempts, firstPauseMs, isWorthAgain });
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
