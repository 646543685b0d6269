/** Judges the evidence of a session under the policy of its job. */
import type { AppraisalAnswer } from '#libs/wire';
import type { PolicyReader } from '../jobs/submission.js';

export interface EvidenceVerdict {
  readonly tier: 'none' | 'affirming' | 'warning' | 'contraindicated';
  readonly checks: AppraisalAnswer['checks'];
  /** Ed25519 key that the evidence binds, 32 bytes; null unless accepted. */
  readonly receiptKey: Uint8Array | null;
  /** Ids of its authentic GPUs. */
  readonly devices: readonly string[];
}

/** Where the work is paid: a session of another account or chain could not be settled. */
export interface SessionBounds {
  /** Account of the node's operator, 0x-hexadecimal. */
  readonly provider: string;
  readonly chainId: number;
}

export interface EvidenceAppraiser extends PolicyReader {
  /**
   * @param at  unix seconds
   * @throws Rejection when evidence or policy cannot be read at all; an unfavourable verdict is an answer
   */
  appraise(input: {
    readonly evidence: Uint8Array;
    /** What the key broker's verdict rested on, canonical CBOR. */
    readonly endorsements: Uint8Array;
    /** Devices of other live sessions. */
    readonly devicesInUse: ReadonlySet<string>;
    readonly policy: Uint8Array;
    /** What the session must be bound to. */
    readonly bound: SessionBounds;
    readonly at: number;
  }): Promise<EvidenceVerdict>;
}
