/** Answers of the control plane: as untrusted as anything that comes from a network. */
import { z } from 'zod';
import { Rejection } from '#attestation';
import { HeartbeatAnswer, LeaseAcquired, NodeRegistered } from '#libs/messaging';

/** Longer pauses would not fit a timer. */
const Registered = NodeRegistered.extend({ heartbeatSeconds: z.int().min(1).max(3600) });

export const parseRegistered = (answer: unknown): NodeRegistered => shaped(Registered, answer);
export const parseBeat = (answer: unknown): HeartbeatAnswer => shaped(HeartbeatAnswer, answer);
export const parseAcquired = (answer: unknown): LeaseAcquired => shaped(LeaseAcquired, answer ?? null);

/** @throws Rejection CONTROL_PLANE_ANSWER */
function shaped<T>(schema: z.ZodType<T>, answer: unknown): T {
  const result = schema.safeParse(answer);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  throw new Rejection('CONTROL_PLANE_ANSWER', {
    expected: issue.message,
    got: issue.path.join('.') || 'the answer',
    rule: 'dispatch protocol',
    action: 'check that the control plane is of this version',
  });
}
