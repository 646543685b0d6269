/** Appraises a session with what the key broker's verdict rested on, and with the devices that other sessions have. */
import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DataSource, In, MoreThan, Not, type EntityManager } from 'typeorm';
import { parseSessionEvidence } from '#attestation/records';
import { EndorsementSet, Lease, NodeRecord, Verdict, Worker } from '#libs/persistence';
import { EVIDENCE_APPRAISER } from '../core/config/tokens.js';
import { Clock } from '../core/timing/clock.js';
import type { EvidenceAppraiser, EvidenceVerdict, SessionBounds } from './evidence-appraiser.js';

interface SessionShown {
  readonly evidence: Buffer;
  /** Canonical CBOR. */
  readonly endorsements: Buffer;
  readonly policy: Uint8Array;
  readonly bound: SessionBounds;
}

@Injectable()
export class SessionJudge {
  constructor(
    private readonly database: DataSource,
    private readonly clock: Clock,
    @Inject(EVIDENCE_APPRAISER) private readonly appraiser: EvidenceAppraiser,
  ) {}

  /** Outside of any transaction. @param at  unix seconds */
  async appraise(shown: SessionShown, at: number): Promise<EvidenceVerdict> {
    const devicesInUse = await this.devicesInUse(shown);
    return this.appraiser.appraise({ ...shown, devicesInUse, at });
  }

  /** Sessions of one provider take over from each other after a crash, those of another never. */
  private async devicesInUse({ evidence, bound }: SessionShown): Promise<ReadonlySet<string>> {
    if (parseSessionEvidence(new Uint8Array(evidence)).gpus.length === 0) return new Set();
    const { manager } = this.database;
    const others = (await manager.findBy(NodeRecord, { provider: Not(bound.provider) })).map(({ id }) => id);
    const leases = await manager.findBy(Lease, { nodeId: In(others), state: 'active' });
    const verdicts = await manager.findBy(Verdict, { leaseId: In(leases.map(({ id }) => id)) });
    const workers = await manager.findBy(Worker, {
      nodeId: In(others),
      attestedUntil: MoreThan(this.clock.now()),
    });
    return new Set([...verdicts, ...workers].flatMap(({ devices }) => devices));
  }
}

/** @returns digest under which the endorsements are kept */
export async function keepEndorsements(manager: EntityManager, bytes: Buffer): Promise<string> {
  const digest = `0x${createHash('sha256').update(bytes).digest('hex')}`;
  if (await manager.existsBy(EndorsementSet, { digest })) return digest;
  await manager.upsert(EndorsementSet, { digest, bytes }, ['digest']);
  return digest;
}
