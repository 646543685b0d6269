/**
 * Commits to the data set and the start weights of a proved job. One JSON request on stdin, one JSON document on stdout:
 * {"prepared": {…}} with commitments and the secrets that a prover needs, or {"error": {"code", …}} and exit status 1.
 * Progress on stderr: {"phase", "percent", "etaSeconds"}.
 */
import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { CodedError, Rejection, toHex } from '#attestation';
import { checkBounds, manifestBytesMax, parseManifest } from '#libs/step';
import { createPool, KernelBackend } from '#libs/zk';
import { prepareJob } from './job/prepare-job.js';
import { loadExamples } from './proving/files.js';
import { choosePlan } from './proving/plan-choice.js';
import { slice } from './proving/records.js';

const Request = z.strictObject({
  manifest: z.unknown(),
  images: z.string().min(1),
  labels: z.string().min(1),
  /** How many of the shuffled records are used; all where absent. */
  recordsMax: z.int().min(1).optional(),
  threads: z.int().min(1).max(16).default(1),
});

const hex = (bytes: Uint8Array): string => `0x${toHex(bytes)}`;

async function prepare(): Promise<object> {
  const input = await text(process.stdin);
  const parsed = Request.safeParse(input.length > 2 * manifestBytesMax ? null : JSON.parse(input));
  if (!parsed.success) {
    const { message, path } = parsed.error.issues[0]!;
    const got = path.join('.') || 'another document';
    throw new Rejection('PROVE_REQUEST', { expected: message.slice(0, 120), got, rule: 'prover worker, request' });
  }
  const { images, labels, recordsMax, threads } = parsed.data;
  const manifest = parseManifest(parsed.data.manifest);
  checkBounds(manifest);
  const plan = choosePlan(manifest, 'auto', 'joint');
  const all = await loadExamples(manifest, { images, labels });
  const examples = slice(manifest, all, 0, Math.min(recordsMax ?? all.count, all.count));
  const engine = await createPool({ threads, rowLogMax: plan.profile.m });
  try {
    const [dataSecret, weightSeed] = [new Uint8Array(randomBytes(32)), new Uint8Array(randomBytes(32))];
    const backend = new KernelBackend(engine);
    const made = prepareJob(backend, plan, examples, dataSecret, weightSeed, (done, of) => {
      const progress = { phase: 'commit data', percent: Math.floor((100 * done) / of), etaSeconds: null };
      process.stderr.write(`${JSON.stringify(progress)}\n`);
    });
    return {
      profile: plan.profile.name,
      root: hex(made.root),
      records: made.records,
      data: made.data.map(({ root, ood }) => ({ root: hex(root), ood: hex(ood) })),
      genesis: { root: hex(made.genesis.root), ood: hex(made.genesis.ood) },
      genesisDigest: hex(made.genesisDigest),
      dataSecret: hex(dataSecret),
      weightSeed: hex(weightSeed),
    };
  } finally {
    await engine.close();
  }
}

try {
  process.stdout.write(`${JSON.stringify({ prepared: await prepare() })}\n`);
} catch (error) {
  if (!(error instanceof CodedError)) throw error;
  process.stdout.write(`${JSON.stringify({ error: error.toJSON() })}\n`);
  process.exitCode = 1;
}
