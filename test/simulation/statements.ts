/** What simulated enclaves and provers say of the steps that they have done: real statements, receipts and signatures. */
import { createPrivateKey, sign as signWith } from 'node:crypto';
import { type ShownByProof } from '#attestation';
import { fromBase64, fromHex, toBase64 } from '#attestation/base';
import {
  encodeRoundStatement,
  encodeStepStatement,
  parseStepStatement,
  partialOf,
  partialsDigest,
  signReceipt,
  signRoundReceipt,
  type BundledProof,
  type StepStatement,
} from '#attestation/records';
import { manifestDigest } from '#libs/step';
import type { SignedStatement } from '#libs/wire';
import { receiptKey, receiptSecret } from '#test/made-session';
import { averaged, trained, type SimulatedJob } from './work.js';

/** PKCS #8 around the 32 bytes of an Ed25519 key (RFC 8410). */
const receiptSigner = createPrivateKey({
  key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), receiptSecret]),
  format: 'der',
  type: 'pkcs8',
});
const sign = (message: Uint8Array): Uint8Array => new Uint8Array(signWith(null, message, receiptSigner));

/** From border `index` to the next. */
function statementOf(job: SimulatedJob, index: number, before: Uint8Array, after: Uint8Array): StepStatement {
  return {
    jobId: fromHex(job.id),
    programDigest: manifestDigest(job.manifest),
    datasetRoot: job.spec.dataset.root,
    stepFrom: index * job.steps,
    stepCount: job.steps,
    weightsBefore: before,
    weightsAfter: after,
  };
}

/** A segment of a plain or a proved job, trained from `before`. */
export function segmentOf(job: SimulatedJob, index: number, before: Uint8Array): StepStatement {
  return statementOf(job, index, before, trained(before, index));
}

export async function signed(statement: StepStatement): Promise<SignedStatement> {
  const receipt = await signReceipt(statement, receiptKey, sign);
  return { statement: toBase64(encodeStepStatement(statement)), receipt: toBase64(receipt) };
}

/** What a node without a TEE says of a segment: nobody signs it, it waits for its proof. */
export const unsigned = (statement: StepStatement): SignedStatement => ({
  statement: toBase64(encodeStepStatement(statement)),
  receipt: '',
});

/** A segment of a data-parallel job, counted over all workers, trained from the start of its round. */
export function partialStatement(job: SimulatedJob, index: number, before: Uint8Array): StepStatement {
  const round = statementOf(job, Math.floor(index / job.workers), before, before);
  return { ...partialOf(job.spec, round, index % job.workers), weightsAfter: trained(before, index) };
}

/** A partial as it lies sealed at the control plane. */
export const packPartial = (partial: SignedStatement): Uint8Array => Buffer.from(JSON.stringify(partial));

/** What an enclave makes of the partials that its host hands it, in their order. */
export async function averageOf(job: SimulatedJob, before: Uint8Array, packed: readonly Uint8Array[]) {
  const partials = packed.map((bytes) => JSON.parse(Buffer.from(bytes).toString()) as SignedStatement);
  const said = partials.map(({ statement }) => parseStepStatement(fromBase64(statement)));
  const after = averaged(said.map(({ weightsAfter }) => weightsAfter));
  const round = Math.floor(said[0]!.stepFrom / job.steps);
  const statement = {
    ...statementOf(job, round, before, after),
    partials: partialsDigest(partials.map(({ receipt }) => fromBase64(receipt))),
  };
  const receipt = await signRoundReceipt(statement, receiptKey, sign);
  const told: SignedStatement = { statement: toBase64(encodeRoundStatement(statement)), receipt: toBase64(receipt) };
  return { step: statement.stepFrom + statement.stepCount, after, told };
}

/** A simulated proof is the statement that it shows: what proofs prove is tested elsewhere. */
export const proofOf = (statement: StepStatement): Uint8Array => encodeStepStatement(statement);

export function verifyProof(_job: unknown, _index: number, { bytes }: BundledProof): ShownByProof {
  return { statement: parseStepStatement(bytes), soundnessBits: 0, start: 'seed' };
}
