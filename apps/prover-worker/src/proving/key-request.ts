/** Makes or imports the Groth16 key of a manifest's circuit into a folder of keys: the work of key-main.ts. */
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { Rejection, to0x } from '#attestation/base';
import { groth16Admission } from '#libs/proof';
import { checkBounds, parseManifest } from '#libs/step';
import { openCircuit, openKey } from '#libs/zk/groth16';
import { keyDigest, type Ceremony } from '#libs/zk/verifier';
import { groth16Cache } from './groth16-cache.js';
import { keepKey } from './key-folder.js';
import { PinnedFile } from './request.js';

const Request = z.strictObject({
  /** Parsed JSON of an fxt/1 manifest. */
  manifest: z.unknown(),
  /** Folder of keys. */
  folder: z.string().min(1),
  /** Powers of tau, and the key of a ceremony from them; this machine makes what is absent. */
  ptau: PinnedFile.optional(),
  zkey: PinnedFile.optional(),
  memoryMiB: z.int().min(1).max(65_536).default(4096),
});

type KeyRequest = z.infer<typeof Request>;

interface MadeKey {
  /** What specs of jobs under the key name. */
  readonly plan: string;
  /** Where it is, with key.json for clients. */
  readonly folder: string;
  readonly ceremony: Ceremony;
  /** Digest of the verification key with its circuit. */
  readonly verificationKey: string;
  readonly constraints: number;
}

/** @throws Rejection PROVE_REQUEST naming the member */
export function parseKeyRequest(text: string): KeyRequest {
  const result = Request.safeParse(jsonOf(text));
  if (result.success) return result.data;
  const issue = result.error.issues[0]!;
  const [expected, got] = [issue.message.slice(0, 120), issue.path.join('.') || 'another document'];
  throw new Rejection('PROVE_REQUEST', { expected, got, rule: 'prover worker, keys' });
}

/**
 * A key of a ceremony is checked against its circuit and the powers of tau: proofs under one that is not well formed could
 * show what they are to hide.
 *
 * @throws Rejection MANIFEST_*, STEP_RANGE_*, GROTH16_SHAPE; ConfigurationError BACKEND_UNAVAILABLE, GROTH16_*, ZK_MEMORY_EXCEEDED
 */
export async function makeKey({ manifest: json, folder, ptau, zkey, memoryMiB }: KeyRequest): Promise<MadeKey> {
  const manifest = parseManifest(json);
  checkBounds(manifest, 'proved');
  const { shape } = groth16Admission(manifest);
  const limits = { memoryBytesMax: memoryMiB * 2 ** 20 };
  const circuit = await openCircuit(groth16Cache, shape, limits);
  const key = await openKey(groth16Cache, circuit, { ...(ptau && { ptau }), ...(zkey && { zkey }) }, limits);
  const plan = keepKey(resolve(folder), circuit, key);
  return {
    ...{ plan, folder: join(resolve(folder), plan.slice(2)), ceremony: key.ceremony },
    verificationKey: to0x(keyDigest(circuit.digest, key.ceremony, key.bytes)),
    constraints: circuit.header.constraints,
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
