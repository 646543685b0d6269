/** What provers report: progress, a proof, that they give up. A proof is verified here before anybody relies on it. */
import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { ProofVerifier } from '#attestation';
import { equalBytes } from '#attestation/base';
import { encodeStepStatement } from '#attestation/records';
import { type Job, Receipt } from '#libs/persistence';
import type { Acknowledged, ProofDeliver, ProofFail, ProofHeld, ProofProgress } from '#libs/wire';
import type { Principal } from '../core/auth/principal.js';
import { PROOF_VERIFIER } from '../core/config/tokens.js';
import { BlobStore } from '../core/objects/blob-store.js';
import { refusal } from '../core/problem/codes.js';
import { Clock } from '../core/timing/clock.js';
import { openJob } from '../jobs/open-job.js';
import { proofClaims } from '../claims/claim-kinds.js';
import { ClaimStore } from '../claims/claim-store.js';
import { requireBlob } from '../data/own-blob.js';
import { keepProverKey } from '../evidence/prover-keys.js';

const { rule } = proofClaims;
/** One proof with its head; a segment's proof is some hundred kilobytes. */
const proofBytesMax = 16 * 1024 * 1024;

@Injectable()
export class ProofReports {
  constructor(
    private readonly claims: ClaimStore,
    private readonly blobs: BlobStore,
    private readonly clock: Clock,
    @Inject(PROOF_VERIFIER) private readonly verify: ProofVerifier,
  ) {}

  progress(principal: Principal, message: ProofProgress): Promise<ProofHeld> {
    const { phase, percent, etaSeconds } = message;
    return this.claims.progress(proofClaims, principal, message, () => ({ phase, percent, etaSeconds }));
  }

  /** @throws Rejection NODE_UNKNOWN, LEASE_FENCED, BLOB_UNKNOWN, PROOF_FOREIGN and those of the verifier */
  async deliver(principal: Principal, message: ProofDeliver): Promise<Acknowledged> {
    const { index, blob, document } = message;
    if (await this.claims.isTold(proofClaims, principal, message, { blob, document })) return {};
    const { job, claimed } = await this.claims.hold(proofClaims, principal, message, async (manager, held) => {
      await requireBlob(manager, principal, blob);
      await keepProverKey(manager, held.id, message.logged, this.clock.now());
      return { job: held, claimed: await claimedStatement(manager, held, index) };
    });
    const shown = this.verify(openJob(job), index, { bytes: await this.read(blob), document }).statement;
    if (!equalBytes(encodeStepStatement(shown), claimed)) {
      throw foreign('the statement that was reported for this segment', 'a proof of another statement');
    }
    return this.claims.finish(proofClaims, principal, message, { blob, document }, { blob });
  }

  fail(principal: Principal, message: ProofFail): Promise<Acknowledged> {
    return this.claims.fail(proofClaims, principal, message);
  }

  private async read(blob: string): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of await this.blobs.open(blob)) {
      bytes += (chunk as Uint8Array).length;
      if (bytes > proofBytesMax) throw foreign(`a proof of at most ${proofBytesMax} bytes`, 'more');
      chunks.push(chunk as Uint8Array);
    }
    return new Uint8Array(Buffer.concat(chunks));
  }
}

async function claimedStatement(manager: EntityManager, job: Job, index: number): Promise<Uint8Array> {
  const { segmentSteps } = openJob(job).spec;
  const where = { jobId: job.id, stepFrom: String(index * segmentSteps) };
  return new Uint8Array((await manager.findOneByOrFail(Receipt, where)).statement);
}

function foreign(expected: string, got: string) {
  return refusal('PROOF_FOREIGN', { expected, got: got.slice(0, 120), rule });
}
