/** The audit log held against the heads of it that stand in a transparency log: a chain made anew is found. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromHex } from '#attestation/base';
import { leafHash, parseEntry, parseLogProof, verifyLogProof } from '#attestation/log';
import { LogOutboxEntry } from '#libs/persistence';
import { startLogSite } from '#test/log-processes';
import { issuerOf } from '#test/log-site';
import { AuditChain } from '../src/core/audit/audit-chain.js';
import { AuditHeads } from '../src/core/audit/audit-heads.js';
import { LogSender } from '../src/evidence/log-sender.js';
import { startTestPlane, type TestPlane } from './harness.js';

const issuer = issuerOf('control-plane.example');
let site: Awaited<ReturnType<typeof startLogSite>>;
let test: TestPlane;
beforeAll(async () => {
  site = await startLogSite([issuer.name]);
  const watchKeyOf = (jobId: string): Uint8Array => fromHex(jobId);
  test = await startTestPlane({ log: { url: site.url, policy: site.policy, issuer, watchKeyOf, images: () => [] } });
  test.clock.pass(Math.floor(Date.now() / 1000) - test.clock.at());
}, 60_000);
afterAll(async () => {
  await test.stop();
  await site.stop();
});

const query = (sql: string): Promise<unknown> => test.plane.database.dataSource.query(sql);
const chain = (): AuditChain => test.plane.app.get(AuditChain);
const heads = () => test.plane.database.dataSource.manager.findBy(LogOutboxEntry, { kind: 'journal-head' });

async function acted(count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    await query(
      `INSERT INTO audit_log (at, tenant, actor, action, subject) VALUES (now(), '', 'test', 'acted', '${at}')`,
    );
  }
  await chain().extend();
}

async function logHead(): Promise<void> {
  await test.plane.app.get(AuditHeads).note();
  await test.plane.app.get(LogSender).send();
}

/** As somebody would who can write to the whole database. */
async function chainAnew(without: string): Promise<void> {
  await query(`DELETE FROM audit_log WHERE id = (SELECT max(id) FROM audit_log WHERE ${without})`);
  await query('UPDATE audit_log SET n = NULL, prev = NULL WHERE n > 0');
  await query('UPDATE audit_head SET n = 0, digest = NULL');
  await chain().extend();
}

describe('heads of the audit log', () => {
  it('are logged once for each state of the chain, under a checkpoint that a witness saw', async () => {
    await acted(3);
    await logHead();
    await logHead();
    const [row, ...more] = await heads();
    expect(more).toEqual([]);
    const { n, digest } = ((await query('SELECT n, digest FROM audit_head')) as { n: string; digest: string }[])[0]!;
    expect([row!.subject, row!.data]).toEqual([n, { digest }]);
    const entry = new Uint8Array(row!.entry!);
    expect(parseEntry(entry)).toMatchObject({ kind: 'journal-head', issuer: issuer.name });
    expect(verifyLogProof(parseLogProof(row!.proof!), leafHash(entry), site.policy).witnessedAt).not.toBeNull();
    expect(await chain().verify()).toMatchObject({ head: digest });
    await acted(2);
    await logHead();
    expect(await heads()).toHaveLength(2);
    expect((await chain().verify()).rows).toBe(Number(n) + 2);
  });

  it('tell of a chain that was made anew, also where the heads went with it', async () => {
    const broken = /AUDIT_BROKEN/;
    await chainAnew(`action = 'acted'`);
    await expect(chain().verify()).rejects.toThrow(broken);
    await acted(3);
    await expect(chain().verify()).rejects.toThrow(/as logged/);
    await query(`DELETE FROM log_outbox WHERE kind = 'journal-head'`);
    await expect(chain().verify()).rejects.toThrow(/transparency log/);
  });

  it('let nothing be called whole while the log is away', async () => {
    await site.stopOne('log');
    await expect(chain().verify()).rejects.toThrow(/LOG_UNREACHABLE/);
  });
});
