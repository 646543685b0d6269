/** Bundles of a tiny data-parallel job: one made by enclaves, and any that the owner of a lawful session might sign. */
import { createHash } from 'node:crypto';
import {
  bordersRoot,
  domainSeparator,
  encodeJobSpec,
  encodeRoundStatement,
  encodeSessionEvidence,
  encodeStepStatement,
  encodeTerms,
  jobDigest,
  keyCommitment,
  parseRoundStatement,
  parseStepStatement,
  partialsDigest,
  reportData,
  runDigest,
  signReceipt,
  signRoundReceipt,
  teeSelector,
  toHex,
  type ParallelBundle,
  type RoundStatement,
  type StepStatement,
} from '#attestation';
import { simulatedMeasurement } from '#libs/simulated-vendor';
import { createSessionKeys } from '../../enclave/src/keys.js';
import { fakeAmd } from './fake-amd.js';
import { chainId, contract, policyBytes, provider, registry, releaseRequest, tinyAt, tinyBroker } from './tiny-job.js';
import type { Keyed, TinyJob, TinyJobOptions } from './tiny-job.js';
import { crew, runRounds, tinyParallelJob } from './tiny-rounds.js';

export interface RoundBundle {
  readonly job: TinyJob;
  readonly bundle: ParallelBundle;
}

/** Two sessions; session 0 is worker 0 and averages. */
export async function tinyRoundBundle(options: TinyJobOptions = {}): Promise<RoundBundle> {
  const job = await tinyParallelJob(2, options);
  const members = await crew(job, 2);
  const { checkpoints, partials, result } = await runRounds(
    job,
    members,
    (index) => index % 2,
    () => 0,
  );
  const bundle: ParallelBundle = {
    version: 3,
    spec: encodeJobSpec(job.spec),
    terms: encodeTerms(job.terms),
    policy: policyBytes(job),
    sessions: members.map((member) => sessionOf(member.evidence, member.released)),
    endorsements: { crls: [], rims: [] },
    segments: checkpoints.map(({ statement, receipt }, round) => ({
      session: 0,
      ...{ statement, receipt },
      partials: partials[round]!.map((one, session) => ({ session, statement: one.statement, receipt: one.receipt })),
    })),
    run: result.run,
    seal: { session: 0, bytes: result.seal },
    delivery: {
      ciphertextDigest: new Uint8Array(createHash('sha256').update(result.ciphertext).digest()),
      keyCommit: keyCommitment(result.revealKey),
    },
    settlement: { transactions: [] },
  };
  return { job, bundle };
}

function sessionOf(evidence: Uint8Array, { result, appraisal, appraisalSignature }: Keyed['released']) {
  const appraised = { notAfter: appraisal.notAfter, signature: appraisalSignature };
  return { evidence, result: result.signed, appraisedAt: tinyAt, appraisal: appraised };
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
): Promise<ParallelBundle> {
  const keys = await createSessionKeys({ provider, chainId, registry });
  const { broker, nonces } = await tinyBroker(job);
  const { nonce } = nonces.issue(toHex(job.jobId), tinyAt, '127.0.0.1');
  const amd = fakeAmd('milan');
  const values = { MEASUREMENT: simulatedMeasurement, REPORT_DATA: reportData(nonce, keys.binding) };
  const evidence = encodeSessionEvidence({
    ...{ version: 1, nonce, binding: keys.binding, gpus: [], claims: new Uint8Array() },
    cpu: { kind: 'simulated-snp', report: await amd.report(values), certificates: amd.certificates },
  });
  const released = await broker.release(releaseRequest(job, evidence), tinyAt);
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
      return { session: 0, statement: encodeRoundStatement(statement), receipt, partials };
    }),
  );
  const after = segments.map(({ statement }) => parseRoundStatement(statement).weightsAfter);
  const borders = [job.terms.initialWeights, ...after];
  const run = { ...bundle.run, bordersRoot: bordersRoot(borders), last: borders.at(-1)! };
  const digest = runDigest(domainSeparator({ chainId, verifyingContract: contract }), {
    job: jobDigest(job.terms),
    ...run,
  });
  const seal = { session: 0, bytes: new Uint8Array([...teeSelector, ...keys.signSettlement(digest)]) };
  return { ...bundle, sessions: [sessionOf(evidence, released)], segments, run, seal };
}
