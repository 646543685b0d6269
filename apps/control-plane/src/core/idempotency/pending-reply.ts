/** A POST whose handler stores its answer itself, in the transaction of its change. */
import { createParamDecorator, SetMetadata, type ExecutionContext } from '@nestjs/common';
import type { Idempotency } from '#libs/persistence';
import { refusal } from '../problem/codes.js';

export interface PendingReply {
  /** Without status and answer. */
  readonly entry: Idempotency;
  /** Of an answer that is stored with its change. */
  readonly status: number;
  /** Set when the answer is stored. */
  isKept: boolean;
}

export const KEEPS_REPLY = 'veritrain:keeps-reply';
/** The handler stores its answer under the idempotency key, where it changes something; it answers with this status. */
export const KeepsReply = (status: number) => SetMetadata(KEEPS_REPLY, status);

export interface ReplyCarrier {
  pendingReply?: PendingReply;
}

/** What a handler that keeps its reply is given. */
export const Reply = createParamDecorator((_data: unknown, context: ExecutionContext): PendingReply => {
  const { pendingReply } = context.switchToHttp().getRequest<ReplyCarrier>();
  if (pendingReply === undefined) throw new Error('a handler that uses Reply is not marked with KeepsReply');
  return pendingReply;
});

export function inProgress() {
  return refusal('IDEMPOTENCY_IN_PROGRESS', {
    expected: 'the first request under this key to have ended',
    got: 'one that still runs',
    rule: 'apps/control-plane/README.md, idempotency',
    action: 'Retry in a moment.',
  });
}
