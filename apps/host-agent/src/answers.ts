/** Answers of the control plane: as untrusted as anything that comes from a network. */
import { z } from 'zod';
import { Rejection } from '#attestation';
import {
  base64,
  Hex32,
  LeaseRef,
  limits,
  SignedStatement,
  StepNumber,
  TermsJson,
  Uuid,
  type HeartbeatAnswer,
  type LeaseAcquired,
  type NodeRegistered,
} from '#libs/messaging';

const heartbeatSecondsMax = 3600;
const leasesMax = 64;

const Registered = z.object({
  nodeId: Uuid,
  heartbeatSeconds: z.number().min(0.05).max(heartbeatSecondsMax),
  leaseSeconds: z.number().positive(),
}) satisfies z.ZodType<NodeRegistered>;

const Beat = z.object({
  cancel: z.array(Uuid).max(leasesMax),
  lost: z.array(Uuid).max(leasesMax),
}) satisfies z.ZodType<HeartbeatAnswer>;

const Resume = z.object({
  step: StepNumber,
  blob: Hex32,
  receipts: z.array(SignedStatement).max(limits.segmentsMax),
});

const Acquired = z
  .object({
    ...LeaseRef.shape,
    expiresAt: z.number(),
    job: z.object({
      jobId: Hex32,
      escrowId: Hex32,
      spec: base64(limits.specBytesMax),
      terms: TermsJson,
      policy: base64(limits.policyBytesMax),
      brokerUrl: z.string().max(2048),
      datasetManifest: z.unknown(),
      resume: Resume.nullable(),
    }),
  })
  .nullable() satisfies z.ZodType<LeaseAcquired>;

export const parseRegistered = (answer: unknown): NodeRegistered => shaped(Registered, answer);
export const parseBeat = (answer: unknown): HeartbeatAnswer => shaped(Beat, answer);
export const parseAcquired = (answer: unknown): LeaseAcquired => shaped(Acquired, answer ?? null);

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
