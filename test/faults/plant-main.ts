/**
 * Loaded before a process: breaks it in the way that VERITRAIN_TEST_PLANT names, to see that the fault runs find it. What is
 * shipped knows nothing of this.
 */
import { appendFileSync } from 'node:fs';
import { register } from 'node:module';
import pg from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import type { Lease } from '#libs/persistence';
import type { LeaseRef } from '#libs/wire';
import type { Held } from '../../apps/control-plane/src/claims/lease-store.js';
import type { Principal } from '../../apps/control-plane/src/core/auth/principal.js';
import type { Announcement } from '../../apps/control-plane/src/jobs/journal.js';
import type { Alteration } from './alter-hooks.js';

const alter = (...alterations: readonly Alteration[]): void =>
  void register('./alter-hooks.js', import.meta.url, { data: alterations });

const app = /\/(control-plane|host-agent|key-broker|enclave)\//.exec(process.argv[1] ?? '')?.[1];

const plants: Readonly<Record<string, Partial<Record<string, () => Promise<void> | void>>>> = {
  /** Whoever once held a lease may go on with the job. */
  'no-fence': {
    async 'control-plane'() {
      const { LeaseStore } = await import('../../apps/control-plane/src/claims/lease-store.js');
      const { Lease: LeaseEntity } = await import('#libs/persistence');
      interface Inside {
        readonly database: DataSource;
        readonly journal: { lock(manager: EntityManager, jobId: string): Promise<Held['job']> };
      }
      const hold = function <T>(this: Inside, _by: Principal, ref: LeaseRef, work: (held: Held) => Promise<T>) {
        return this.database.transaction(async (manager) => {
          const lease: Lease = await manager.findOneByOrFail(LeaseEntity, { id: ref.leaseId });
          return work({ manager, job: await this.journal.lock(manager, lease.jobId), lease });
        });
      };
      Object.assign(LeaseStore.prototype, { hold });
    },
  },
  /** One kind of outbox row is forgotten. */
  'lost-outbox': {
    async 'control-plane'() {
      const { JobJournal } = await import('../../apps/control-plane/src/jobs/journal.js');
      const { announceAll } = JobJournal.prototype;
      Object.assign(JobJournal.prototype, {
        async announceAll(this: object, manager: EntityManager, messages: readonly Announcement[]): Promise<void> {
          const kept = messages.filter(({ topic }) => topic !== 'job.running.v1');
          if (kept.length > 0) await announceAll.call(this as never, manager, kept);
        },
      });
    },
  },
  /** A submission is acknowledged, and never committed: the driver says that it was. */
  'ack-before-commit': {
    'control-plane'() {
      const { query } = pg.Client.prototype as { query: (...args: unknown[]) => unknown };
      const forgotten = new WeakSet<object>();
      Object.assign(pg.Client.prototype, {
        query(this: object, ...args: unknown[]) {
          const [first] = args as [string | { readonly text?: string }];
          const text = typeof first === 'string' ? first : (first.text ?? '');
          if (/^\s*INSERT INTO "?job"?\s*\(/i.test(text)) forgotten.add(this);
          return text === 'COMMIT' && forgotten.delete(this)
            ? query.call(this, 'ROLLBACK', ...args.slice(1))
            : query.apply(this, args);
        },
      });
    },
  },
  /** A host signs the grant that its enclave sees with a key of its own, and the enclave does not look at the signer. */
  'grant-of-another-broker': {
    'host-agent'() {
      alter({
        file: '/host-agent/src/job-session.js',
        from: /const keyed = \{ release, signature, /,
        to: `const { signRecoverable } = await import('#attestation/base');
          const { domainSeparator, releaseDigest, parseJobSpec } = await import('#attestation/records');
          const { chainId, contract: verifyingContract } = parseJobSpec(fromBase64(job.spec)).settlement;
          const digest = releaseDigest(domainSeparator({ chainId, verifyingContract }), release);
          const keyed = { release, signature: signRecoverable(digest, new Uint8Array(32).fill(0xbb)), `,
      });
    },
    enclave() {
      alter({ file: '/enclave/src/grant.js', from: /!equalBytes\(broker, granted\.terms\.keyBroker\)/, to: 'false' });
    },
  },
  /** The enclave keeps what it decrypts where its host can read it. */
  'plaintext-on-disk': {
    enclave() {
      const decrypt = crypto.subtle.decrypt.bind(crypto.subtle);
      crypto.subtle.decrypt = async (...args) => {
        const plaintext = await decrypt(...args);
        appendFileSync(process.env['VERITRAIN_TEST_PLANT_FILE']!, new Uint8Array(plaintext));
        return plaintext;
      };
    },
  },
};

if (app !== undefined) await plants[process.env['VERITRAIN_TEST_PLANT'] ?? '']?.[app]?.();
