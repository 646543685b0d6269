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

/** @throws Rejection PROVE_REQUEST naming the member */
export function parseProveRequest(json: unknown): ProveRequest {
  const result = Request.safeParse(json);
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  throw new Rejection('PROVE_REQUEST', {
    expected: issue.message.slice(0, 120),
    got: issue.path.join('.') || 'another document',
    rule: 'prover worker, request',
  });
}
