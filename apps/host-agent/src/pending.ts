/**
 * Escrows in which this host's money is, from before they are accepted until they have ended, with the result as soon
 * as there is one. Each is on disk before it is told to anybody, so that a crash of this host loses neither the stake
 * nor the result nor the reveal key that earns the money. The ciphertext opens for the client alone.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import {
  bytes,
  bytesUpTo,
  evaluationBytesMax,
  evaluationsMax,
  decodeCanonical,
  encodeCanonical,
  list,
  nullable,
  oneOf,
  record,
  recordWith,
  Rejection,
  text,
  toCbor,
  toHex,
  uint,
  type Partially,
  type Shaped,
} from '#attestation/base';
import { checkpointSessionsMax, jobSpecBytesMax } from '#attestation/records';
import { writeWhole } from '#libs/node';
import { openCiphertexts, type Ciphertext, type Ciphertexts } from './ciphertexts.js';
import { openKeptProofs, type KeptProofs } from './kept-proofs.js';

const resultShape = {
  ciphertext: bytesUpTo(12 * 1024 * 1024),
  revealKey: bytes(32),
  borders: list(bytes(32), 4001),
  run: record({
    upTo: uint(),
    outcome: oneOf(0, 1, 2, 3),
    bordersRoot: bytes(32),
    last: bytes(32),
    delivery: bytes(32),
    keys: bytes(32),
  }),
  /** Accounts of the settlement keys that `run.keys` is the digest of: of the sessions of a checkpoint, and the sealer's. */
  keys: list(bytes(20), checkpointSessionsMax + 1),
  seal: bytesUpTo(1024),
};

const pendingShape = {
  version: oneOf(2),
  jobId: bytes(32),
  /** Under which it was, or is to be, told to the control plane. */
  lease: record({ leaseId: text(64), fence: uint() }),
  terms: bytesUpTo(4096),
  brokerUrl: text(2048),
  /** Account of the session's settlement key. */
  key: bytes(20),
  result: nullable(record(resultShape)),
  /**
   * Whether the control plane has taken the result, or refused it: then another lease may have the job, whose result is
   * the one to be paid.
   */
  told: oneOf<boolean | 'refused'>(true, false, 'refused'),
  /** Whether the key broker has the whole ciphertext of the committed run. */
  stored: oneOf<boolean>(true, false),
  /** Of every checkpoint of the run, with their statements: whoever takes the delivery may not have been given them. */
  receipts: list(record({ statement: bytesUpTo(1024), receipt: bytesUpTo(4096) }), 4000),
};

/** Of a job that owes proofs, that evaluates, or whose result came in pieces; what a former version wrote has none. */
const optionalShape = {
  /** Of the job, where every segment of its run must be proved. */
  spec: bytesUpTo(jobSpecBytesMax),
  /** Where the ciphertext lies that `result` has none of. */
  file: record({ name: text(64), bytes: uint(), sha256: bytes(32), digest: bytes(32) }),
  evaluations: list(
    record({ key: bytes(32), statement: bytesUpTo(evaluationBytesMax), receipt: bytesUpTo(4096) }),
    evaluationsMax,
  ),
};

const suffix = '.pending';
/** Of the former layout, under terms that this version cannot act on. */
const formerSuffix = '.former';
const sessionSuffix = '.session';

/**
 * What let the session of a lease in, as the control plane was told it. One that was restored from before the lease is
 * told again.
 */
const Session = z.object({
  ...{ leaseId: z.string(), nodeId: z.string(), evidence: z.string(), endorsements: z.string() },
  release: z.unknown(),
});
type KeptSession = z.infer<typeof Session>;

export type PendingEscrow = Shaped<typeof pendingShape> & Partially<Shaped<typeof optionalShape>>;
type TrainedResult = Shaped<typeof resultShape>;
/** One that has its result. */
export type PendingResult = PendingEscrow & { readonly result: TrainedResult };

export interface PendingEscrows {
  /** Files of results that came in pieces, and of checkpoints on their way. */
  readonly ciphertexts: Ciphertexts;
  readonly proofs: KeptProofs;
  save(escrow: PendingEscrow): void;
  saveSession(jobId: string, session: KeptSession): void;
  /** Null where the lease has none on this disk. */
  sessionOf(escrow: PendingEscrow): KeptSession | null;
  /** @throws Rejection CBOR_*, MESSAGE_SHAPE when the file was damaged */
  find(jobId: string): PendingEscrow | null;
  /** Removes files of ciphertexts and proofs that no escrow names. */
  tidy(): void;
  /** Job ids, hexadecimal. */
  jobs(): string[];
  /** The escrow has ended and its money is taken out. */
  remove(jobId: string): void;
  /**
   * Lays aside what a former version wrote; the files stay, for they hold what earns the money under that version.
   * @returns a Rejection TERMS_VERSION for each
   */
  layAside(): readonly Rejection[];
}

/** The result's ciphertext, wherever it lies. */
export function ciphertextOf({ file, result }: PendingResult): Ciphertext {
  return file ?? result.ciphertext;
}

export function hasResult(escrow: PendingEscrow): escrow is PendingResult {
  return escrow.result !== null;
}

export function openPendingEscrows(folder: string): PendingEscrows {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pathOf = (jobId: string): string => join(folder, `${jobId}${suffix}`);
  const sessionPathOf = (jobId: string): string => join(folder, `${jobId}${sessionSuffix}`);
  const decoded = (path: string): unknown => decodeCanonical(new Uint8Array(readFileSync(path)));
  const read = (path: string): PendingEscrow =>
    recordWith(pendingShape, optionalShape)(decoded(path), 'pending escrow');
  const names = (): string[] => readdirSync(folder).filter((name) => name.endsWith(suffix));
  const find = (jobId: string): PendingEscrow | null =>
    names().includes(`${jobId}${suffix}`) ? read(pathOf(jobId)) : null;
  const ciphertexts = openCiphertexts(join(folder, 'ciphertexts'));
  const proofs = openKeptProofs(join(folder, 'proofs'));
  /** Undefined where the file was damaged. */
  const fileOf = (jobId: string): PendingEscrow['file'] => {
    try {
      return find(jobId)?.file;
    } catch (error) {
      if (error instanceof Rejection) return undefined;
      throw error;
    }
  };
  return {
    ciphertexts,
    proofs,
    save: (escrow) => writeWhole(pathOf(toHex(escrow.jobId)), encodeCanonical(toCbor(escrow))),
    saveSession: (jobId, session) => writeWhole(sessionPathOf(jobId), JSON.stringify(session)),
    sessionOf({ jobId, lease }) {
      const path = sessionPathOf(toHex(jobId));
      if (!existsSync(path)) return null;
      const session = Session.parse(JSON.parse(readFileSync(path, 'utf8')));
      return session.leaseId === lease.leaseId ? session : null;
    },
    find,
    tidy() {
      const jobs = names().map((name) => name.slice(0, -suffix.length));
      ciphertexts.keepOnly(new Set(jobs.flatMap((jobId) => fileOf(jobId)?.name ?? [])));
      proofs.keepOnly(new Set(jobs));
    },
    jobs: () => names().map((name) => name.slice(0, -suffix.length)),
    remove(jobId) {
      const file = fileOf(jobId);
      if (file !== undefined) ciphertexts.drop(file);
      proofs.remove(jobId);
      rmSync(sessionPathOf(jobId), { force: true });
      rmSync(pathOf(jobId), { force: true });
    },
    layAside: () =>
      names().flatMap((name) => {
        if (!isFormer(() => decoded(join(folder, name)))) return [];
        const aside = join(folder, `${name.slice(0, -suffix.length)}${formerSuffix}`);
        renameSync(join(folder, name), aside);
        return [former(aside)];
      }),
  };
}

/** What is damaged is refused where it is read. */
function isFormer(decoded: () => unknown): boolean {
  try {
    const escrow = decoded();
    return escrow instanceof Map && escrow.has('jobId') && !escrow.has('version');
  } catch (error) {
    if (error instanceof Rejection) return false;
    throw error;
  }
}

function former(aside: string): Rejection {
  return new Rejection('TERMS_VERSION', {
    expected: 'an escrow under terms of the present layout',
    got: `one of the former layout, laid aside as ${aside}`,
    rule: 'contracts/SPEC.md §5',
    action: 'let the escrow end under the version that accepted it',
  });
}
