import { existsSync, readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openTsm, type TsmFiles } from './tsm.js';

const reportData = new Uint8Array(64).fill(7);
const failure = (code: string): Error => Object.assign(new Error(code), { code });
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const bytesOf = (value: Uint8Array | string): Uint8Array => (typeof value === 'string' ? utf8(value) : value);

/** The rules of drivers/virt/coco/tsm.c: a generation per entry, a report made on read, nothing left behind. */
class FakeTsm implements TsmFiles {
  readonly entries = new Map<string, { generation: bigint; inblob?: Uint8Array; privlevel?: string }>();
  readonly pauses: number[] = [];
  made = 0;
  /** Called after every write, to let somebody else interfere. */
  interfere: (entry: { generation: bigint }, attempt: number) => void = () => undefined;
  /** Errno of reading outblob at this attempt, if any. */
  fail: (attempt: number) => string | undefined = () => undefined;
  auxblob = new Uint8Array();

  constructor(readonly provider: string | undefined) {}

  async mkdir(path: string): Promise<void> {
    if (this.provider === undefined) throw failure('ENXIO');
    if (!path.startsWith('/sys/kernel/config/tsm/report/')) throw failure('ENOENT');
    if (this.entries.has(path)) throw failure('EEXIST');
    this.entries.set(path, { generation: 0n });
    this.made++;
  }
  async rmdir(path: string): Promise<void> {
    if (!this.entries.delete(path)) throw failure('ENOENT');
  }
  async write(path: string, value: Uint8Array | string): Promise<void> {
    const { entry, attribute } = this.find(path);
    if (attribute === 'inblob') entry.inblob = bytesOf(value).slice();
    else if (attribute === 'privlevel' && this.provider === 'sev_guest') {
      if (Number(value) > 3) throw failure('EINVAL');
      entry.privlevel = String(value);
    } else throw failure('EACCES');
    if (entry.inblob && (entry.inblob.length === 0 || entry.inblob.length > 64)) throw failure('EINVAL');
    entry.generation++;
    this.interfere(entry, this.made);
  }
  async read(path: string): Promise<Uint8Array> {
    const { entry, attribute } = this.find(path);
    if (attribute === 'generation') return utf8(`${entry.generation}\n`);
    if (attribute === 'provider') return utf8(`${this.provider}\n`);
    if (entry.inblob === undefined) throw failure('EINVAL');
    if (attribute === 'auxblob' && this.provider === 'sev_guest') return this.auxblob;
    if (attribute !== 'outblob') throw failure('ENOENT');
    const errno = this.fail(this.made);
    if (errno !== undefined) throw failure(errno);
    return new Uint8Array(
      createHash('sha512')
        .update(entry.inblob)
        .update(entry.privlevel ?? '')
        .digest(),
    );
  }
  async pause(ms: number): Promise<void> {
    this.pauses.push(ms);
  }
  private find(path: string) {
    const cut = path.lastIndexOf('/');
    const entry = this.entries.get(path.slice(0, cut));
    if (entry === undefined) throw failure('ENOENT');
    return { entry, attribute: path.slice(cut + 1) };
  }
}

const expected = (level = ''): Uint8Array =>
  new Uint8Array(createHash('sha512').update(reportData).update(level).digest());

describe('openTsm', () => {
  it.each([
    ['sev_guest', 'snp'],
    ['tdx_guest', 'tdx'],
  ] as const)('collects from %s and leaves nothing behind', async (provider, kind) => {
    const files = new FakeTsm(provider);
    const attester = await openTsm(kind, { files });
    expect(await attester.collect(reportData)).toEqual({ kind, report: expected(), certificates: [] });
    expect(files.entries.size).toBe(0);
    expect(files.made).toBe(2);
  });

  it('asks for a privilege level', async () => {
    const attester = await openTsm('snp', { files: new FakeTsm('sev_guest'), privilegeLevel: 2 });
    expect((await attester.collect(reportData)).report).toEqual(expected('2'));
  });

  it('begins anew in a fresh directory when somebody else wrote', async () => {
    const files = new FakeTsm('sev_guest');
    const attester = await openTsm('snp', { files });
    files.interfere = (entry, attempt) => void (attempt < 4 && entry.generation++);
    expect((await attester.collect(reportData)).report).toEqual(expected());
    expect([files.made, files.pauses, files.entries.size]).toEqual([4, [50, 100], 0]);
  });

  it('gives up after five races, and says so', async () => {
    const files = new FakeTsm('sev_guest');
    const attester = await openTsm('snp', { files });
    files.interfere = (entry) => void entry.generation++;
    await expect(attester.collect(reportData)).rejects.toMatchObject({ code: 'TSM_RACED', family: 'collateral' });
    expect([files.made, files.entries.size]).toEqual([6, 0]);
  });

  it.each(['EBUSY', 'EAGAIN', 'EINTR', 'ETIMEDOUT'])('tries again after %s', async (errno) => {
    const files = new FakeTsm('tdx_guest');
    const attester = await openTsm('tdx', { files });
    files.fail = (attempt) => (attempt < 3 ? errno : undefined);
    expect((await attester.collect(reportData)).report).toEqual(expected());
    expect(files.made).toBe(3);
    files.fail = () => errno;
    await expect(attester.collect(reportData)).rejects.toMatchObject({ code: 'TSM_BUSY', family: 'collateral' });
  });

  it.each([
    ['EFBIG', 'TSM_REPORT', 'collateral'],
    ['EIO', 'TSM_REPORT', 'collateral'],
    ['EINVAL', 'TSM_REFUSED', 'configuration'],
    ['EACCES', 'TSM_REFUSED', 'configuration'],
  ])('does not repeat after %s', async (errno, code, family) => {
    const files = new FakeTsm('sev_guest');
    const attester = await openTsm('snp', { files });
    files.fail = () => errno;
    await expect(attester.collect(reportData)).rejects.toMatchObject({ code, family });
    expect([files.made, files.entries.size]).toEqual([2, 0]);
  });

  it('refuses a machine without provider, and another one', async () => {
    await expect(openTsm('snp', { files: new FakeTsm(undefined) })).rejects.toMatchObject({ code: 'TSM_ABSENT' });
    await expect(openTsm('snp', { files: new FakeTsm('tdx_guest') })).rejects.toMatchObject({ code: 'TSM_PROVIDER' });
    await expect(openTsm('tdx', { files: new FakeTsm('x') })).rejects.toMatchObject({ code: 'TSM_PROVIDER' });
  });

  it('refuses other lengths of report data before it asks', async () => {
    const files = new FakeTsm('sev_guest');
    const attester = await openTsm('snp', { files });
    await expect(attester.collect(new Uint8Array(63))).rejects.toMatchObject({ code: 'TSM_REPORT_DATA' });
    expect(files.made).toBe(1);
  });

  it('refuses a broken certificate table of the host', async () => {
    const files = new FakeTsm('sev_guest');
    files.auxblob = new Uint8Array(24).fill(1);
    const attester = await openTsm('snp', { files });
    await expect(attester.collect(reportData)).rejects.toMatchObject({ code: 'TSM_CERTIFICATES' });
  });

  const sample = `${process.env['VERITRAIN_VECTORS'] ?? '../shared/vectors'}/amd-snp/genoa-v3-vcek-configfs-tsm`;
  if (!existsSync(sample)) console.warn(`SKIPPED: no sample at ${sample}`);
  it.skipIf(!existsSync(sample))('hands on the certificates of a table captured on a real guest', async () => {
    const captured = JSON.parse(readFileSync(`${sample}/tsm-report.json`, 'utf8')) as Record<string, string>;
    const files = new FakeTsm(captured['provider']!.trim());
    files.auxblob = new Uint8Array(Buffer.from(captured['auxblob']!, 'base64url'));
    const parts = await (await openTsm('snp', { files })).collect(reportData);
    expect(parts.certificates.length).toBe(3);
    expect(parts.auxblob).toEqual(files.auxblob);
  });
});
