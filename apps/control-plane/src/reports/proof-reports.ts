/** What provers report: progress, a proof, that they give up. A proof is verified here before anybody relies on it. */
import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { type ProofVerifier } from '#attestation';
import { CodedError, equalBytes } from '#attestation/base';
import { encodeStepStatement } from '#attestation/records';
import { BlobRecord, Receipt, SegmentProof, type Job } from '#libs/persistence';
import type { Acknowledged, ProofDeliver, ProofFail, ProofHeld, ProofProgress } from '#libs/wire';
import { ProofStore } from '../claims/proof-store.js';
import type { Principal } from '../core/auth/principal.js';
import { PROOF_VERIFIER } from '../core/config/tokens.js';
import { BlobStore } from '../core/objects/blob-store.js';
import { refusal } from '../core/problem/codes.js';
import { Clock } from '../core/timing/clock.js';
import { jobTopic, Signals } from '../core/timing/signals.js';
import { JobJournal } from '../jobs/journal.js';
import { openJob } from '../jobs/open-job.js';

const rule = 'apps/control-plane/README.md, proofs';
/** One proof with its head; a segment's proof is some hundred kilobytes. */
const proofBytesMax = 16 * 1024 * 1024;

@Injectable()
export class ProofReports {
  constructor(
    private readonly store: ProofStore,
    private readonly blobs: BlobStore,
    private readonly journal: JobJournal,
    private readonly signals: Signals,
    private readonly clock: Clock,
    @Inject(PROOF_VERIFIER) private readonly verify: ProofVerifier,
  ) {}

  async progress(principal: Principal, message: ProofProgress): Promise<ProofHeld> {
    const { jobId, index, phase, percent, etaSeconds } = message;
    try {
      await this.store.hold(principal, message, async (manager, job, row) => {
        await manager.update(SegmentProof, { jobId, index, fence: row.fence }, { expiresAt: this.store.expiry() });
        await this.journal.record(manager, job.id, 'proving', {
          index,
          phase,
          percent,
          etaSeconds,
          nodeId: message.nodeId,
        });
      });
    } catch (error) {
      if (error instanceof CodedError && error.code === 'LEASE_FENCED') return { held: false };
      throw error;
    }
    this.signals.raise(jobTopic(jobId));
    return { held: true };
  }

  /** @throws Rejection NODE_UNKNOWN, LEASE_FENCED, BLOB_UNKNOWN, PROOF_FOREIGN and those of the verifier */
  async deliver(principal: Principal, message: ProofDeliver): Promise<Acknowledged> {
    const { jobId, index, blob, document } = message;
    if (await this.store.isTold(principal, message, { blob, document })) return {};
    const { job, claimed } = await this.store.hold(principal, message, async (manager, held) => {
      if (!(await manager.existsBy(BlobRecord, { sha256: blob, tenant: principal.tenant }))) throw unknownBlob(blob);
      return { job: held, claimed: await claimedStatement(manager, held, index) };
    });
    const shown = this.verify(openJob(job), index, { bytes: await this.read(blob), document }).statement;
    if (!equalBytes(encodeStepStatement(shown), claimed)) {
      throw foreign('the statement that was reported for this segment', 'a proof of another statement');
    }
    await this.store.hold(principal, message, async (manager, { id }, { fence, provedAt }) => {
      if (provedAt !== null) return;
      await manager.update(SegmentProof, { jobId, index, fence }, { blob, document, provedAt: this.clock.now() });
      await this.journal.record(manager, id, 'proof', { index, blob, nodeId: message.nodeId });
    });
    this.signals.raise(jobTopic(jobId));
    return {};
  }

  async fail(principal: Principal, message: ProofFail): Promise<Acknowledged> {
    const { jobId, index, code, detail } = message;
    await this.store.hold(principal, message, async (manager, job, row) => {
      if (row.provedAt !== null) return;
      await manager.update(SegmentProof, { jobId, index, fence: row.fence }, { expiresAt: this.clock.now() });
      await this.journal.record(manager, job.id, 'proof-failed', { index, code, detail, saidBy: 'node' });
    });
    this.signals.raise(jobTopic(jobId));
    return {};
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

function unknownBlob(sha256: string) {
  return refusal('BLOB_UNKNOWN', {
    expected: 'a blob that this operator uploaded',
    got: sha256,
    rule: 'apps/control-plane/README.md, blobs',
    action: 'Upload it first.',
  });
}
