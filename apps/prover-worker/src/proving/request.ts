/** What the proving process is asked for: one JSON document on its standard input. */
import { z } from 'zod';
import { Rejection } from '#attestation/base';
import { proverMemoryMiB } from '#libs/proof';

export const PinnedFile = z.strictObject({
  path: z.string().min(1),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

const Request = z.strictObject({
  /** Parsed JSON of an fxt/1 manifest. */
  manifest: z.unknown(),
  /** Paths of IDX files in record order before the shuffle. */
  images: z.string().min(1),
  labels: z.string().min(1),
  from: z.int().min(0),
  steps: z.int().min(1),
  threads: z.int().min(1).max(16).default(1),
  backend: z.enum(['auto', 'sumcheck', 'groth16']).default('auto'),
  /** Whether a contract will check the proofs: weighs gas when the backend is `auto`. */
  onChain: z.boolean().default(false),
  /** Where the Groth16 key comes from; a development key where absent. */
  key: z.strictObject({ ptau: PinnedFile.optional(), zkey: PinnedFile.optional() }).default({}),
  profile: z.string().max(64).default('auto'),
  memoryMiB: z.int().min(1).max(4096).default(proverMemoryMiB),
  /** Canonical weights at step `from`; computed from the seed where absent. */
  weights: z.string().min(1).optional(),
  /** State digest that the weights at step `from` are claimed to have. */
  stateDigest: z
    .string()
    .regex(/^0x[0-9a-f]{64}$/)
    .optional(),
});

export type ProveRequest = z.infer<typeof Request>;

const AccuracyRequest = z.strictObject({
  accuracy: z.literal(true),
  manifest: z.unknown(),
  /** Paths of IDX files of the set, in its order. */
  images: z.string().min(1),
  labels: z.string().min(1),
  /** Canonical weights. */
  weights: z.string().min(1),
  /** Files of 32 bytes in hexadecimal, which open the commitments to the weights and to the set; drawn where absent. */
  weightsSeed: z.string().min(1).optional(),
  dataSeed: z.string().min(1).optional(),
  /** How many records to prove right; absent: all that are. */
  correct: z.int().min(0).optional(),
  threads: z.int().min(1).max(16).default(1),
  profile: z.string().max(64).default('auto'),
  memoryMiB: z.int().min(1).max(4096).default(proverMemoryMiB),
});

export type AccuracyRequest = z.infer<typeof AccuracyRequest>;

/** @throws Rejection PROVE_REQUEST naming the member */
export function parseAccuracyRequest(json: unknown): AccuracyRequest {
  return parsed(AccuracyRequest, json);
}

/** @throws Rejection PROVE_REQUEST naming the member */
export function parseProveRequest(json: unknown): ProveRequest {
  return parsed(Request, json);
}

function parsed<T>(schema: z.ZodType<T>, json: unknown): T {
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  throw new Rejection('PROVE_REQUEST', {
    expected: issue.message.slice(0, 120),
    got: issue.path.join('.') || 'another document',
    rule: 'prover worker, request',
  });
}
