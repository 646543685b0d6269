/** What the API answers, as far as these pages show it (apps/control-plane/openapi.json). */
import type { Role } from '#libs/wire';

export interface Me {
  readonly keyId: string;
  readonly name: string;
  readonly tenant: string | null;
  readonly role: Role;
  readonly provider: string | null;
  readonly sessionEndsAt: string | null;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

export interface Progress {
  readonly step: number;
  readonly of: number;
  readonly loss: number | null;
  readonly accuracy: number | null;
  readonly samplesPerSecond: number | null;
  readonly at: string;
}

export interface Job {
  readonly id: string;
  readonly state: string;
  readonly code: string | null;
  readonly reason: Readonly<Record<string, unknown>> | null;
  readonly saidBy: 'control-plane' | 'node' | null;
  readonly escrowState: string;
  readonly funded: boolean;
  readonly datasetId: string;
  readonly assurance: string;
  readonly steps: number;
  readonly attempt: number;
  readonly priority: number;
  readonly unplaced?: string | null;
  readonly progress: Progress | null;
  readonly attestedUntil: string | null;
  readonly settlementTransaction: string | null;
  readonly acceptBy: string;
  readonly deadline: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

interface Payment {
  readonly kind: string;
  readonly to: string;
  readonly amountWei: string;
  readonly transaction: string;
  readonly blockNumber: number;
}

export interface Escrow {
  readonly state: string;
  readonly fundedWei: string;
  readonly paidWei: string;
  readonly client: string;
  readonly provider: string;
  readonly segments: number;
  /** Segments of the committed run; 0 before. */
  readonly upTo: number;
  readonly payments: readonly Payment[];
}

export interface Dataset {
  readonly id: string;
  readonly records: number;
  readonly shards: number;
  readonly uploaded: number;
  readonly bytes: number;
  readonly createdAt: string;
}

export interface Node {
  readonly id: string;
  readonly name: string;
  readonly provider: string;
  readonly capabilities: {
    readonly tee: string;
    readonly cores: number;
    readonly memoryMiB: number;
    readonly tcb?: string;
    readonly priceMin?: string;
    readonly version: string;
  };
  readonly state: 'ready' | 'cordoned' | 'draining';
  readonly online: boolean;
  readonly lastSeenAt: string;
  readonly createdAt: string;
  /** Null for whom it is not. */
  readonly leases: number | null;
  readonly evidenceAt: string | null;
}

export interface AuditRow {
  readonly id: string;
  readonly at: string;
  readonly tenant: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly code: string | null;
}

export interface AppraisalCheck {
  readonly code: string;
  readonly status: string;
  readonly got: string;
  readonly rule: string;
}

export interface Appraisal {
  readonly leaseId: string;
  readonly jobId: string;
  readonly at: string;
  readonly tier: string;
  readonly renewal: boolean;
  readonly lease: string;
  readonly leaseCode: string | null;
  readonly checks: readonly AppraisalCheck[];
}

export interface PreflightCheck {
  readonly name: string;
  readonly state: 'ok' | 'missing' | 'warning' | 'skipped';
  readonly found: string;
  readonly expected: string;
  readonly action: string;
}

export interface Preflight {
  readonly id: string;
  readonly kind: 'host' | 'policy';
  readonly simulated: boolean;
  readonly at: string;
  readonly policy: string | null;
  readonly postedAt: string;
  readonly postedBy: string;
  readonly checks: readonly PreflightCheck[];
}

export interface Earning {
  readonly jobId: string;
  readonly state: string;
  readonly escrowState: string;
  readonly priceWei: string;
  readonly earnedWei: string;
  readonly payments: readonly Payment[];
  readonly updatedAt: string;
}

export interface Session {
  readonly id: string;
  readonly createdAt: string;
  readonly usedAt: string;
  readonly endsAt: string;
  readonly isThis: boolean;
}

export interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly states: readonly string[];
  readonly createdAt: string;
  readonly disabledAt: string | null;
}

export interface Delivery {
  readonly id: string;
  readonly messageId: string;
  readonly attempts: number;
  readonly createdAt: string;
  readonly nextAt: string | null;
  readonly endedAt: string | null;
  readonly lastOutcome: string | null;
  readonly body: string;
}

export interface DeadLetter {
  readonly id: string;
  readonly at: string;
  readonly source: string;
  readonly pattern: string;
  readonly actor: string | null;
  readonly code: string;
  readonly reason: unknown;
  readonly bytes: number;
  readonly replayable: boolean;
  readonly replayedAt: string | null;
  readonly replayCode: string | null;
}

export interface LogState {
  readonly url: string | null;
  readonly logs: readonly { readonly origin: string; readonly url: string | null }[];
  readonly witnesses: readonly string[];
  readonly quorum: string | null;
  readonly logged: number;
  readonly waiting: number;
}

export interface LogEntry {
  readonly id: string;
  readonly kind: string;
  readonly subject: string;
  readonly state: 'waiting' | 'logged' | 'nothing';
  readonly code: string | null;
  readonly createdAt: string;
  readonly origin: string | null;
  readonly index: number | null;
  readonly entry: string | null;
  readonly proof: string | null;
}

export interface Tenant {
  readonly tenant: string;
  readonly keys: number;
  readonly jobsWaiting: number;
  readonly jobsWaitingMax: number;
  readonly jobsUnderWay: number;
  readonly jobsUnderWayMax: number;
  readonly datasetBytes: number;
  readonly datasetBytesMax: number;
  readonly ownLimits: boolean;
}
