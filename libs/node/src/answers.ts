/** Answers of the control plane: as untrusted as anything that comes from a network. */
import { z } from 'zod';
import { Rejection } from '#attestation/base';
import {
  HeartbeatAnswer,
  isSpoken,
  LeaseAcquired,
  NodeRegistered,
  ProofAcquired,
  ProofHeld,
  protocolVersion,
  SegmentAcquired,
  SegmentHeld,
  SegmentJoined,
} from '#libs/wire';

/** Longer pauses would not fit a timer. */
const Registered = NodeRegistered.extend({ heartbeatSeconds: z.int().min(1).max(3600) });

/** @throws Rejection CONTROL_PLANE_ANSWER, PROTOCOL_VERSION */
export function parseRegistered(answer: unknown): NodeRegistered {
  const registered = shaped(Registered, answer);
  if (isSpoken(registered.protocol)) return registered;
  throw new Rejection('PROTOCOL_VERSION', {
    expected: `dispatch protocol ${protocolVersion} or a neighbour of it`,
    got: String(registered.protocol),
    rule: 'dispatch protocol',
    action: 'upgrade the older side, one version at a time',
  });
}
export const parseBeat = (answer: unknown): HeartbeatAnswer => shaped(HeartbeatAnswer, answer);
export const parseAcquired = (answer: unknown): LeaseAcquired => shaped(LeaseAcquired, answer ?? null);
export const parseProofAcquired = (answer: unknown): ProofAcquired => shaped(ProofAcquired, answer);
export const parseSegmentAcquired = (answer: unknown): SegmentAcquired => shaped(SegmentAcquired, answer);
export const parseSegmentJoined = (answer: unknown): SegmentJoined => shaped(SegmentJoined, answer);
export const parseSegmentHeld = (answer: unknown): SegmentHeld => shaped(SegmentHeld, answer);
export const parseProofHeld = (answer: unknown): ProofHeld => shaped(ProofHeld, answer);

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
