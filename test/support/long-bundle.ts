/** A bundle of many segments that one lawful session signed: what it says of weights is the test's, all else is real. */
import { keccak, utf8 } from '#attestation/base';
import {
  bordersRoot,
  deliveryDigest,
  domainSeparator,
  encodeBundle,
  encodeJobSpec,
  encodeStepStatement,
  encodeTerms,
  escrowIdOf,
  parseEndorsements,
  programDigest,
  runDigest,
  runKeysDigest,
  signReceipt,
  teeSelector,
} from '#attestation/records';
import { lawfulSession } from './lawful-session.js';
import { shownSession } from './tiny-bundle.js';
import { chainId, contract, policyBytes, tinyJob, tinyManifest } from './tiny-job.js';

/** One step to a segment. @param segments at most 4000 */
export async function longBundle(segments: number): Promise<Uint8Array> {
  const job = await tinyJob({ manifest: tinyManifest({ steps: segments }), segmentSteps: 1 });
  const { keys, evidence, released } = await lawfulSession(job);
  const { jobId, spec, terms } = job;
  const borders = Array.from({ length: segments + 1 }, (_, at) =>
    at === 0 ? terms.initialWeights : keccak(utf8(`weights after ${at} steps`)),
  );
  const common = { jobId, programDigest: programDigest(spec.manifest), datasetRoot: spec.dataset.root, stepCount: 1 };
  const shown = [];
  for (let stepFrom = 0; stepFrom < segments; stepFrom++) {
    const [weightsBefore, weightsAfter] = [borders[stepFrom]!, borders[stepFrom + 1]!];
    const statement = { ...common, stepFrom, weightsBefore, weightsAfter };
    const receipt = await signReceipt(statement, keys.binding.receiptKey, keys.signReceipt);
    shown.push({
      ...{ statement: encodeStepStatement(statement), signed: { session: 0, receipt }, proof: null, partials: [] },
    });
  }
  const delivery = { ciphertextDigest: new Uint8Array(32).fill(1), keyCommit: new Uint8Array(32).fill(2) };
  const run = {
    ...{ upTo: segments, outcome: 0 as const, bordersRoot: bordersRoot(borders), last: borders.at(-1)! },
    delivery: deliveryDigest(delivery.ciphertextDigest, delivery.keyCommit),
    keys: runKeysDigest([keys.binding.settlementKey]),
  };
  const domain = domainSeparator({ chainId, verifyingContract: contract });
  const seal = keys.signSettlement(runDigest(domain, { job: escrowIdOf(terms), ...run }));
  return encodeBundle({
    ...{ version: 4, spec: encodeJobSpec(spec), terms: encodeTerms(terms), policy: policyBytes(job) },
    sessions: [shownSession(evidence, released)],
    endorsements: parseEndorsements(released.result.endorsements),
    ...{ segments: shown, run, delivery },
    seal: { session: 0, bytes: new Uint8Array([...teeSelector, ...seal]) },
    settlement: { transactions: [] },
  });
}
