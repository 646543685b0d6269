/** What a prover is given to work on: the job, where its data is, and the secrets that open its commitments. JSON. */
import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';
import { ConfigurationError, fromHex, jobIdOf, parseJobSpec, Rejection, type JobSpec } from '#attestation';
import { parseManifestText, type Manifest } from '#libs/step';
import type { ProofEscrow } from '#libs/proof';
import type { Commitment } from '#libs/zk/verifier';

const Hex32 = z
  .string()
  .regex(/^0x[0-9a-f]{64}$/)
  .transform(fromHex);
const CommitmentJson = z.strictObject({ root: Hex32, ood: Hex32 });

const Order = z.strictObject({
  /** Base64 of the job spec's deterministic CBOR. */
  spec: z.string().max(128 * 1024),
  profile: z.string().max(64),
  /** IDX files in record order before the shuffle, and how many of the shuffled records the job uses. */
  images: z.string().min(1),
  labels: z.string().min(1),
  data: z.array(CommitmentJson).min(1).max(65_536),
  genesis: CommitmentJson,
  dataSecret: Hex32,
  weightSeed: Hex32,
  /** Where present, proofs are bound to the segments of this escrow, for its contract to verify. */
  escrow: z.strictObject({ domain: Hex32, job: Hex32 }).optional(),
  threads: z.int().min(1).max(16).default(1),
  memoryMiB: z.int().min(1).max(4096).default(2048),
});

export interface ProverOrder {
  readonly spec: JobSpec;
  readonly jobId: Uint8Array;
  readonly manifest: Manifest;
  readonly profile: string;
  readonly images: string;
  readonly labels: string;
  readonly data: readonly Commitment[];
  readonly genesis: Commitment;
  readonly dataSecret: Uint8Array;
  readonly weightSeed: Uint8Array;
  readonly escrow?: ProofEscrow | undefined;
  readonly threads: number;
  readonly memoryMiB: number;
}

const orderFileMax = 32 * 1024 * 1024;

/** @throws ConfigurationError PROVER_ORDER; Rejection ORDER_ASSURANCE, ORDER_SCHEME, ORDER_SEGMENT, MANIFEST_*, CBOR_* */
export function readOrder(path: string): ProverOrder {
  const result = Order.safeParse(readJson(path));
  if (!result.success) {
    const issue = result.error.issues[0]!;
    throw malformed(`${path}: ${issue.message.slice(0, 100)}`, issue.path.join('.') || 'another document');
  }
  const spec = parseJobSpec(new Uint8Array(Buffer.from(result.data.spec, 'base64')));
  const manifest = parseManifestText(spec.manifest);
  if (spec.assurance === 'tee') refuse('ORDER_ASSURANCE', "assurance 'zk' or 'tee+zk'", spec.assurance);
  if (spec.scheme !== 'fxt-zk/1') refuse('ORDER_SCHEME', "scheme 'fxt-zk/1'", spec.scheme);
  if (spec.segmentSteps !== manifest.superblock) {
    refuse('ORDER_SEGMENT', `segments of one superblock, ${manifest.superblock} steps`, `${spec.segmentSteps}`);
  }
  return { ...result.data, spec, jobId: jobIdOf(spec), manifest };
}

function readJson(path: string): unknown {
  try {
    if (statSync(path).size > orderFileMax) throw malformed(`${path} of at most ${orderFileMax} bytes`, 'more');
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    throw malformed(`${path}: a readable JSON document`, error instanceof Error ? error.message : 'an error');
  }
}

function malformed(expected: string, got: string): ConfigurationError {
  return new ConfigurationError('PROVER_ORDER', { expected, got, rule: 'prover worker, orders' });
}

function refuse(code: string, expected: string, got: string): never {
  throw new Rejection(code, { expected, got, rule: 'prover worker, orders' });
}
