/** What a bundle is checked for, by code. Sessions add the checks of their own appraisal. */
import type { CheckRule } from '../check/checks.js';
import { logRules } from './log-rules.js';

const source = 'attestation/SPEC.md, bundle';
const evaluations = 'attestation/SPEC.md, evaluations';
const resubmit = 'ask whoever made the bundle for the original file';

export const bundleRules = {
  BUNDLE_SPEC: {
    claim: 'sourced-data',
    expected: 'a readable job spec',
    rule: 'The job spec is deterministic CBOR of the documented shape.',
    source,
    action: resubmit,
  },
  BUNDLE_TERMS: {
    claim: 'sourced-data',
    expected: 'escrow terms that name this job and its policy',
    rule: "The escrow's terms name the digest of the job spec and of its policy.",
    source: 'contracts/SPEC.md §3, §5',
    action: resubmit,
  },
  BUNDLE_POLICY: {
    claim: 'configuration',
    expected: 'the policy that the job spec names',
    rule: 'The policy in the bundle has the digest that the job spec names; sessions are judged by the reader’s own policy.',
    source,
    action: 'judge by a policy of your own; the one in the bundle is whatever its maker chose',
  },
  BUNDLE_SESSIONS: {
    claim: 'instance-identity',
    expected: 'appraised enclave sessions of one provider on the chain of the job',
    rule: 'Every session that signed anything is accepted by the policy and bound to the chain and provider of the escrow.',
    source,
    action: 'read the checks of the session that was not accepted',
  },
  BUNDLE_ENDORSEMENTS: {
    claim: 'sourced-data',
    expected: 'every endorsement in its one spelling',
    rule: 'Manifests and collateral are spelled in the one way that has their digest; of a signature by ECDSA, either of its two forms.',
    source: 'attestation/SPEC.md §9.9',
    action: resubmit,
  },
  BUNDLE_GRANTS: {
    claim: 'instance-identity',
    expected: "the key broker's signed release to every session, over its very evidence",
    rule: 'The key broker that the terms name released the data key to each session for this job, on evidence that the session itself made over its nonce.',
    source: 'contracts/SPEC.md §3, §10',
    action: 'ask the data owner whether its key broker released a key to this session',
  },
  BUNDLE_APPRAISALS: {
    claim: 'instance-identity',
    expected: 'as many appraisals of every session by attestors of the terms as the terms need',
    rule: 'As many attestors as the terms need vouch for each session’s key; in versions 1 to 3 the key broker does.',
    source: 'contracts/SPEC.md §3, §10',
    action: 'ask the attestors that the terms name whether they appraised this session',
  },
  BUNDLE_RESULTS: {
    claim: 'instance-identity',
    expected: 'attestation results signed by the key broker that say of each session what its evidence shows',
    rule: 'Each attestation result is the key broker’s, over the same evidence and policy, and accepts the session.',
    source,
    action: resubmit,
  },
  BUNDLE_RECEIPTS: {
    claim: 'runtime-opaque',
    expected: "a receipt over every segment's statement, signed by its session's receipt key",
    rule: "Every segment's statement carries a receipt by the receipt key that its session's evidence binds; in a job that is, or may be, proved its proof may take the receipt's place.",
    source,
    action: resubmit,
  },
  BUNDLE_ROUNDS: {
    claim: 'runtime-opaque',
    expected: "in a data-parallel job one partial of every worker behind each round's average",
    rule: 'Each round names the receipts of one partial per worker: all from the round’s start, each over its own steps, in order, none missing, twice or of another round.',
    source: 'libs/step/SPEC.md §20',
    action: resubmit,
  },
  BUNDLE_PROOFS: {
    claim: 'runtime-opaque',
    expected: "a step proof of every segment's statement, where the job's assurance demands it",
    rule: 'Every segment of a job with assurance zk or tee+zk, and one or more of a job with assurance sampled, carries a step proof for this job and its escrow that shows its statement.',
    source: 'libs/zk/SPEC.md §2.2',
    action: 'verify with a reader that has the verifier of step proofs; if it has, ask for the original file',
  },
  BUNDLE_SETUP: {
    claim: 'runtime-opaque',
    expected: 'a Groth16 key that the reader chose',
    rule: 'Proofs in scheme fxt-groth16/1 hold if nobody kept what their key was made from; the plan in the spec names the key.',
    source: 'libs/zk/src/groth16/SPEC.md §6',
    action: 'compare the digest of the key with one that you trust: `veritrain bundle verify --verification-key`',
  },
  BUNDLE_SAMPLE: {
    claim: 'runtime-opaque',
    expected: 'the segments that the escrow drew, as the chain shows them',
    rule: 'In a job with assurance sampled every segment that was drawn after the run was committed is proved.',
    source: 'contracts/SPEC.md §8',
    action: 'compare with the sample on the chain: `veritrain job result` does; of the other segments nothing is shown',
  },
  BUNDLE_CHAIN: {
    claim: 'runtime-opaque',
    expected: 'one unbroken run of this program on this data set from the agreed start',
    rule: 'Statements follow each other without gap, from the escrow’s start weights, with the program and data set of the spec.',
    source: 'libs/zk/SPEC.md §2.2',
    action: resubmit,
  },
  BUNDLE_RUN: {
    claim: 'runtime-opaque',
    expected: 'a complete run whose borders are those of the statements',
    rule: 'The sealed run is complete, or stopped where manifest and terms have a rule to stop by, and its border root and result are those of the statements.',
    source: 'contracts/SPEC.md §3',
    action: resubmit,
  },
  BUNDLE_EVALUATIONS: {
    claim: 'runtime-opaque',
    expected: 'every evaluation that the manifest declares, once, signed for this job by a session of the bundle',
    rule: 'After every step that the manifest names one evaluation of this job and program stands in the bundle, in order, of the weights that stand at its step, with a receipt by the receipt key of a session.',
    source: evaluations,
    action: resubmit,
  },
  BUNDLE_VALIDATION: {
    claim: 'sourced-data',
    expected: 'evaluations over the whole validation set that the job spec names',
    rule: 'Every evaluation names the validation root of the spec and the metrics of the manifest, with figures that this validation set can give.',
    source: evaluations,
    action: resubmit,
  },
  BUNDLE_STOP: {
    claim: 'runtime-opaque',
    expected: 'the end and the delivered border that follow from the signed evaluations by the rule of the manifest',
    rule: 'The job ends at the first evaluation at which the rule stops it, else after its last step, and what is delivered are the weights of its best evaluation.',
    source: evaluations,
    action: resubmit,
  },
  BUNDLE_SEAL: {
    claim: 'instance-identity',
    expected: "a TeeSeal by the session's settlement key",
    rule: "The seal recovers to the settlement key that its session's evidence binds; a job with assurance zk or sampled has none, nor one that may be proved instead and is, throughout.",
    source: 'contracts/SPEC.md §3, §10',
    action: resubmit,
  },
  BUNDLE_DELIVERY: {
    claim: 'storage-opaque',
    expected: 'the delivery that the seal is over',
    rule: 'The seal is over the digest of the delivered ciphertext and the commitment to its reveal key.',
    source: 'contracts/SPEC.md §12',
    action: resubmit,
  },
  BUNDLE_TRANSACTIONS: {
    claim: 'storage-opaque',
    expected: 'transactions that the chain has',
    rule: 'The transactions that the bundle names are those of the escrow on the chain; a file alone does not show it.',
    source: 'contracts/SPEC.md §16',
    action: 'compare with the chain: GET /v1/jobs/ID/escrow and any explorer show what it has',
  },
  ...logRules,
} as const satisfies Record<string, CheckRule>;

export type BundleCode = keyof typeof bundleRules;
