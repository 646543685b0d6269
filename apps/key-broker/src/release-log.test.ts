/** No key leaves before its release is in the log, where the data owner demands one. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CollateralError, encodeCanonical, toCbor } from '#attestation/base';
import { openEntry, parseEntry, parseLogProof, verifyEntry, verifyLogProof, leafHash } from '#attestation/log';
import { encodeSessionEvidence, type BundledEntry, type Release } from '#attestation/records';
import { startLogSite } from '#test/log-processes';
import { issuerOf } from '#test/log-site';
import { evidenceBy, testSession } from '#test/tiny-evidence';
import { releaseRequest, tinyAt, tinyBroker, tinyJob } from '#test/tiny-job';
import type { BrokerConfig } from './config.js';
import { openReleaseLog, type ReleaseLog } from './release-log.js';

const job = await tinyJob();
const session = await testSession();

async function asked(log: ReleaseLog, more: Partial<BrokerConfig> = {}, at = tinyAt) {
  const { broker, nonces, config } = await tinyBroker(job, { log, ...more });
  const request = async () => {
    const { nonce } = nonces.issue(job.jobId, at);
    return releaseRequest(job, encodeSessionEvidence(await evidenceBy(session, nonce)));
  };
  const journal = (): string => readFileSync(config.journal, 'utf8');
  return { config, journal, release: async () => broker.release(await request(), at) };
}

const unlogged = new CollateralError('BROKER_LOG', { expected: 'a log', got: 'none', rule: 'test' });

describe('a release where the owner demands a log', () => {
  it('is entered before it is recorded, and given after', async () => {
    const order: string[] = [];
    let recorded: () => string = () => '';
    const log: ReleaseLog = {
      enter: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        order.push(recorded().includes('"released"') ? 'entered after' : 'entered');
        return [];
      },
    };
    const { journal, release } = await asked(log);
    recorded = journal;
    await release().then(() => order.push('given'));
    expect(order).toEqual(['entered', 'given']);
    expect(journal()).toContain('"released"');
  });

  it('is not given while the log fails, and is when it is back', async () => {
    let isAway = true;
    const log: ReleaseLog = { enter: () => (isAway ? Promise.reject(unlogged) : Promise.resolve([])) };
    const { journal, release } = await asked(log);
    await expect(release()).rejects.toThrow(/BROKER_LOG/);
    expect(journal()).not.toContain('"released"');
    isAway = false;
    expect((await release()).sealedKey.length).toBeGreaterThan(32);
  });
});

describe('a release that is refused', () => {
  it('is not in the log, whichever check refuses it', async () => {
    const entered: Release[] = [];
    const log: ReleaseLog = { enter: async (release) => (entered.push(release), []) };
    await expect((await asked(log, { jobsPerDataSet: 0 })).release()).rejects.toThrow(/BROKER_JOBS/);
    await expect((await asked(log, { recipients: new Set() })).release()).rejects.toThrow(/BROKER_RECIPIENT/);
    expect(entered).toEqual([]);
  });

  it('is not given where the reason came while the log took it', async () => {
    let exhaust = (): void => undefined;
    const log: ReleaseLog = { enter: async () => (exhaust(), []) };
    const { config, journal, release } = await asked(log);
    exhaust = () => void Object.assign(config, { jobsPerDataSet: 0 });
    await expect(release()).rejects.toThrow(/BROKER_JOBS/);
    expect(journal()).not.toContain('"released"');
  });
});

describe('with a log that runs', () => {
  let site: Awaited<ReturnType<typeof startLogSite>>;
  beforeAll(async () => {
    site = await startLogSite();
  }, 60_000);
  afterAll(() => site.stop());

  const own = { id: 'test', digest: new Uint8Array(32).fill(6), validFrom: 0 };
  const open = (url = site.url, name = 'broker.example'): ReleaseLog =>
    openReleaseLog({ url, policy: site.policy, issuer: issuerOf(name), shown: () => [], own });
  const unixNow = (): number => Math.floor(Date.now() / 1000);

  async function entered(log: ReleaseLog): Promise<{ grant: Uint8Array; logged: readonly BundledEntry[] }> {
    const bytes = (fill: number, size = 32): Uint8Array => new Uint8Array(size).fill(fill);
    const grant = new Uint8Array(
      createHash('sha256')
        .update(encodeCanonical(toCbor({ a: 1 })))
        .digest(),
    );
    const release = {
      ...{ job: bytes(1), provider: bytes(2, 20), dataset: bytes(3), session: bytes(4), key: bytes(5, 20) },
      ...{
        policy: bytes(6),
        evidence: bytes(7),
        grant,
        nonce: bytes(8),
        grantedAt: unixNow(),
        notAfter: unixNow() + 60,
      },
    };
    const announced: Uint8Array[] = [];
    const logged = await log.enter(release, bytes(9), unixNow(), (entry) => announced.push(entry));
    expect(announced).toEqual([logged.at(-1)!.entry]);
    return { grant, logged };
  }

  it('is shown by an entry that opens to it, under a checkpoint that a witness saw', async () => {
    const { grant, logged } = await entered(open());
    const { entry, opening, proof } = logged.at(-1)!;
    const read = await verifyEntry(entry, issuerOf('broker.example').publicKey);
    if (read.class !== 'sealed') throw new Error(read.class);
    expect(openEntry(read, 'key-release', opening!)).toMatchObject({ grant, keys: new Uint8Array(32).fill(4) });
    const { witnessedAt } = verifyLogProof(parseLogProof(proof), leafHash(entry), site.policy);
    expect(witnessedAt).not.toBeNull();
    expect(parseEntry(entry).kind).toBe('key-release');
  });

  it('comes after the policy of the owner, which is logged once', async () => {
    const log = open();
    const [first, second] = await Promise.all([entered(log), entered(log)]);
    const [policy, release] = first.logged;
    expect(parseEntry(policy!.entry).kind).toBe('policy');
    expect(parseLogProof(policy!.proof).index).toBeLessThan(parseLogProof(release!.proof).index);
    expect(second.logged[0]).toEqual(policy);
  });

  it('is refused by its code where the log is dead, or does not take the broker', async () => {
    await expect(entered(open('http://127.0.0.1:9'))).rejects.toThrow(/BROKER_LOG: .*LOG_UNREACHABLE/s);
    await expect(entered(open(site.url, 'stranger'))).rejects.toThrow(/BROKER_LOG: .*LOG_ISSUER/s);
  }, 30_000);
});
