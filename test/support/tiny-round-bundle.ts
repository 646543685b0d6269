/** Bundles of a tiny data-parallel job: one made by enclaves, and any that the owner of a lawful session might sign. */
import {
  bordersRoot,
  ciphertextDigest,
  domainSeparator,
  encodeJobSpec,
  encodeRoundStatement,
  encodeStepStatement,
  encodeTerms,
  escrowIdOf,
  keyCommitment,
  parseEndorsements,
  parseRoundStatement,
  parseStepStatement,
  partialsDigest,
  runDigest,
  runKeysDigest,
  signReceipt,
  signRoundReceipt,
  teeSelector,
  type EvidenceBundle,
  type RoundStatement,
  type StepStatement,
} from '#attestation/records';
import { lawfulSession } from './lawful-session.js';
import { releasedTo, shownSession } from './tiny-bundle.js';
import { chainId, contract, policyBytes, tinyBroker } from './tiny-job.js';
import type { TinyJob, TinyJobOptions } from './tiny-job.js';
import { runRounds, tinyParallelJob } from './tiny-rounds.js';

interface RoundBundle {
  readonly job: TinyJob;
  readonly bundle: EvidenceBundle;
}

/** Two sessions; session 0 is worker 0 and averages. */
export async function tinyRoundBundle(options: TinyJobOptions = {}): Promise<RoundBundle> {
  const job = await tinyParallelJob(2, options);
  const party = await tinyBroker(job);
  const members = [await releasedTo(job, party), await releasedTo(job, party)];
  const { checkpoints, partials, result } = await runRounds(
    job,
    members,
    (index) => index % 2,
    () => 0,
  );
  const bundle: EvidenceBundle = {
    version: 4,
    spec: encodeJobSpec(job.spec),
    terms: encodeTerms(job.terms),
    policy: policyBytes(job),
    sessions: members.map(({ evidence, released }) => shownSession(evidence, released)),
    endorsements: parseEndorsements(members[0]!.released.result.endorsements),
    segments: checkpoints.map(({ statement, receipt }, round) => ({
      ...{ statement, signed: { session: 0, receipt }, proof: null },
      partials: partials[round]!.map((one, session) => ({ session, statement: one.statement, receipt: one.receipt })),
    })),
    run: result.run,
    seal: { session: 0, bytes: result.seal },
    delivery: { ciphertextDigest: ciphertextDigest(result.ciphertext), keyCommit: keyCommitment(result.revealKey) },
    settlement: { transactions: [] },
  };
  return { job, bundle };
}

/** What is signed of one round, before it is. */
export interface Saying {
  readonly round: StepStatement;
  readonly partials: readonly StepStatement[];
}

/** A session of lawful evidence whose keys are ours signs whatever `change` makes of the honest rounds. */
export async function dishonestRounds(
  { job, bundle }: RoundBundle,
  change: (saying: Saying, round: number) => Saying,
): Promise<EvidenceBundle> {
  const { keys, evidence, released } = await lawfulSession(job);
  const { receiptKey } = keys.binding;
  const segments = await Promise.all(
    bundle.segments.map(async (segment, index) => {
      const honest = {
        round: parseRoundStatement(segment.statement),
        partials: segment.partials.map((one) => parseStepStatement(one.statement)),
      };
      const said = change(honest, index);
      const partials = await Promise.all(
        said.partials.map(async (one) => ({
          session: 0,
          statement: encodeStepStatement(one),
          receipt: await signReceipt(one, receiptKey, keys.signReceipt),
        })),
      );
      const statement: RoundStatement = {
        ...said.round,
        partials: partialsDigest(partials.map(({ receipt }) => receipt)),
      };
      const receipt = await signRoundReceipt(statement, receiptKey, keys.signReceipt);
      return { statement: encodeRoundStatement(statement), signed: { session: 0, receipt }, proof: null, partials };
    }),
  );
  const after = segments.map(({ statement }) => parseRoundStatement(statement).weightsAfter);
  const borders = [job.terms.initialWeights, ...after];
  const named = { bordersRoot: bordersRoot(borders), last: borders.at(-1)! };
  const run = { ...bundle.run, ...named, keys: runKeysDigest([keys.binding.settlementKey]) };
  const digest = runDigest(domainSeparator({ chainId, verifyingContract: contract }), {
    job: escrowIdOf(job.terms),
    ...run,
  });
  const seal = { session: 0, bytes: new Uint8Array([...teeSelector, ...keys.signSettlement(digest)]) };
  return { ...bundle, sessions: [shownSession(evidence, released)], segments, run, seal };
}
