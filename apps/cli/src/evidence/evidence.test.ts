import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { kindOf, neutralPolicy, noEndorsements, parsePemCertificates, parsePolicy, showEvidence } from '#attestation';
import { CodedError } from '#attestation/base';
import { encodeSessionEvidence } from '#attestation/records';
import { nodeCommand } from '#libs/process';
import { loadSamples, samplesRoot } from '#test/samples';
import { readPieces } from './material.js';
import { verifySamples } from './samples.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-evidence-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function veritrain(...args: readonly string[]) {
  const [file, ...words] = nodeCommand('../main', import.meta.url, args);
  const { status, stdout, stderr } = spawnSync(file, words, {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  const json = args.includes('--json') && stdout !== '' ? (JSON.parse(stdout) as Record<string, unknown>) : {};
  return { status, stdout, stderr, json };
}

const snp = `${samplesRoot}/amd-snp`;
const turin = `${snp}/turin-v5-vcek-azure`;
const turinChain = [`${turin}/vcek.der`, `${snp}/anchors/ask-turin.pem`, `${snp}/anchors/ark-turin.pem`];
const certs = turinChain.flatMap((file) => ['--cert', file]);
const summer2026 = '1781481600';

describe.skipIf(!existsSync(samplesRoot))('evidence verify-samples', () => {
  it('judges every folder as its manifest says, and new ones of the same layout', () => {
    const copy = join(folder, 'nested', 'renamed');
    mkdirSync(join(folder, 'nested'));
    cpSync(`${samplesRoot}/aws-nitro`, copy, { recursive: true });
    const { status, json } = veritrain('evidence', 'verify-samples', join(folder, 'nested'), '--json');
    expect({ status, counts: json['counts'] }).toEqual({
      status: 0,
      counts: { samples: 5, compared: 5, unexpected: 0, failedUncompared: 0 },
    });
    const samples = json['samples'] as Record<string, unknown>[];
    expect(samples.map(({ folder: where, vendor }) => `${String(where)} ${String(vendor)}`)).toEqual(
      Array(5).fill('renamed aws-nitro'),
    );
    expect(samples[1]).toMatchObject({
      id: 'nitro-debug',
      authentic: true,
      appraisal: 'contraindicated',
      codes: ['NITRO_DEBUG'],
    });
  });

  it('A-L1 fails on a sample without a stated verdict that is forged, undecided or unreadable', async () => {
    const copy = join(folder, 'unstated');
    cpSync(`${snp}/milan-v2-vcek-smt`, join(copy, 'good'), { recursive: true });
    cpSync(`${snp}/anchors`, join(copy, 'anchors'), { recursive: true });
    cpSync(`${snp}/launch-digest`, join(copy, 'launch-digest'), { recursive: true });
    const good = { report: { file: 'good/report.bin' }, leaf: { file: 'good/vcek.der' } };
    const manifest = JSON.parse(readFileSync(`${snp}/manifest.json`, 'utf8')) as { id: string; files: object }[];
    const { files: digests } = manifest.find(({ id }) => id === 'launch-digest')!;
    const judge = async (files: object, expect: object | null = null) => {
      writeFileSync(join(copy, 'manifest.json'), JSON.stringify([{ id: 'one', files, expect }]));
      const { ok, counts } = await verifySamples(copy, Number(summer2026));
      return [ok, counts.failedUncompared];
    };
    expect(await judge(good)).toEqual([true, 0]);
    expect(await judge(digests)).toEqual([true, 0]);
    // Firmware is found by its file's name, whatever the manifest calls its role.
    const renamed = Object.fromEntries(
      Object.entries(digests).map(([role, file]) => [
        role.startsWith('ovmf') ? `${role}Renamed` : role,
        file as object,
      ]),
    );
    expect(await judge(renamed)).toEqual([true, 0]);
    expect(await judge({ report: good.report })).toEqual([false, 1]);
    expect(await judge({ report: { file: 'good/vcek.der' }, leaf: good.leaf })).toEqual([false, 1]);
    expect(await judge({ report: { file: 'absent' } })).toEqual([false, 1]);
    expect(await judge({ report: good.report }, { authentic: false, appraisal: 'none' })).toEqual([true, 0]);
  });

  it('A-L1 takes the anchors that it is given', async () => {
    const copy = join(folder, 'anchored');
    cpSync(`${samplesRoot}/aws-nitro`, copy, { recursive: true });
    rmSync(join(copy, 'anchors'), { recursive: true });
    const judge = async (anchors: string) => (await verifySamples(copy, 0, anchors)).ok;
    expect(await judge(`${samplesRoot}/aws-nitro/anchors`)).toBe(true);
    expect(await judge(`${samplesRoot}/intel-tdx/anchors`)).toBe(false);
    await expect(judge(join(folder, 'nowhere'))).rejects.toThrow('FILE_UNREADABLE');
  });

  it.skipIf(!existsSync(`${samplesRoot}/composite-nras`))('judges a quote with a remote token as undecided', () => {
    const { status, json } = veritrain('evidence', 'verify-samples', `${samplesRoot}/composite-nras`, '--json');
    const [sample] = json['samples'] as Record<string, unknown>[];
    expect(status).toBe(1);
    expect(sample).toMatchObject({ vendor: 'composite-nras', authenticity: 'undecided', appraisal: 'none' });
  });

  it('says so and fails where a verdict is another one or a sample cannot be read', () => {
    const copy = join(folder, 'wrong');
    cpSync(`${samplesRoot}/aws-nitro`, copy, { recursive: true });
    const path = join(copy, 'manifest.json');
    const manifest = JSON.parse(readFileSync(path, 'utf8')) as { files: object; expect: { authentic: boolean } }[];
    manifest[0]!.expect.authentic = false;
    manifest[1]!.files = { document: { file: '../nested/manifest.json' } };
    writeFileSync(path, JSON.stringify(manifest));
    const { status, json } = veritrain('evidence', 'verify-samples', copy, '--json');
    const samples = json['samples'] as { asExpected: boolean; codes: string[] }[];
    expect(status).toBe(1);
    expect(samples.map(({ asExpected }) => asExpected)).toEqual([false, false, true, true, true]);
    expect(samples[1]!.codes).toEqual(['SAMPLES_MANIFEST']);
  });
});

describe.skipIf(!existsSync(samplesRoot))('evidence verify', () => {
  const report = ['evidence', 'verify', '--neutral-policy', '--report', `${turin}/report.bin`];

  it('accepts a genuine report, warns that nobody looked for revocations, and explains every check', () => {
    const { status, json } = veritrain(...report, ...certs, '--at', summer2026, '--json');
    expect(status).toBe(0);
    expect(json).toMatchObject({
      kind: 'snp',
      authentic: true,
      authenticity: 'authentic',
      appraisal: 'warning',
      codes: ['SNP_REVOKED'],
      atSource: 'argument',
    });
    for (const check of json['checks'] as Record<string, string>[]) {
      for (const field of ['code', 'claim', 'status', 'got', 'expected', 'rule', 'source'])
        expect(check[field]).toBeTypeOf('string');
    }
  });

  it('W-H2 exits 0 for a policy that the reader names alone', () => {
    const genuine = ['evidence', 'verify', '--report', `${turin}/report.bin`, ...certs, '--at', summer2026, '--json'];
    const unnamed = veritrain(...genuine);
    expect([unnamed.status, unnamed.json['ok'], unnamed.json['appraisal']]).toEqual([1, false, 'warning']);
    expect(unnamed.json['refusedFor']).toContain('--policy');
    const neutral = veritrain(...genuine, '--neutral-policy');
    expect([neutral.status, neutral.json['ok'], neutral.json['refusedFor']]).toEqual([0, true, null]);
  });

  it('shows verified then, not now, with the advisory between', () => {
    const milan = `${snp}/milan-v2-vcek-smt`;
    const chain = [`${milan}/vcek.der`, `${snp}/anchors/ask-milan.pem`, `${snp}/anchors/ark-milan.pem`];
    const advisories = 'apps/key-broker/policies/advisories.json';
    const args = [
      ...['evidence', 'verify', '--neutral-policy', '--report', `${milan}/report.bin`, '--advisories', advisories],
      ...chain.flatMap((file) => ['--cert', file]),
    ];
    const then = veritrain(...args, '--at', '1767225600', '--and-at', summer2026, '--json');
    expect([then.status, then.json['appraisal']]).toEqual([0, 'warning']);
    const [comparison] = then.json['comparisons'] as {
      change: string;
      differences: { cause: string; after: { got: string } }[];
    }[];
    expect(comparison!.change).toBe('verified-then-not-now');
    expect(comparison!.differences.map(({ cause }) => cause)).toEqual(['advisory']);
    expect(comparison!.differences[0]!.after.got).toContain('arXiv:2605.12990 (critical, preprint)');
    expect(veritrain(...args, '--at', '1767225600', '--and-at', summer2026).stdout).toContain('verified then, not now');
  });

  it('tells missing material, a wrong nonce and forgery apart', () => {
    const bare = veritrain(...report, '--at', summer2026, '--json');
    expect([bare.status, bare.json['authentic'], bare.json['appraisal']]).toEqual([1, false, 'none']);
    const nonce = veritrain(...report, ...certs, '--at', summer2026, '--nonce', '01', '--json');
    expect([nonce.status, nonce.json['authentic'], nonce.json['codes']]).toEqual([
      1,
      true,
      ['SNP_REVOKED', 'REPORT_DATA_MISMATCH'],
    ]);
    const bytes = readFileSync(`${turin}/report.bin`);
    bytes[0x50]! ^= 1;
    writeFileSync(join(folder, 'forged.bin'), bytes);
    const forged = veritrain(
      'evidence',
      'verify',
      '--report',
      join(folder, 'forged.bin'),
      ...certs,
      '--at',
      summer2026,
      '--json',
    );
    expect([forged.status, forged.json['authentic'], forged.json['appraisal']]).toEqual([1, false, 'contraindicated']);
  });

  it('judges a GPU on its own, and says what a later day changes', () => {
    const gpu = `${samplesRoot}/nvidia-gpu/h100-550.90.07-full`;
    const files = [
      '--report',
      `${gpu}/report.bin`,
      '--cert',
      `${gpu}/cert-chain.pem`,
      '--rim',
      `${gpu}/driver-rim.xml`,
      '--rim',
      `${gpu}/vbios-rim.xml`,
    ];
    const { status, json } = veritrain(
      'evidence',
      'verify',
      '--neutral-policy',
      ...files,
      '--at',
      '1772323200',
      '--and-at',
      '2000000000',
      '--json',
    );
    expect([status, json['appraisal']]).toEqual([0, 'affirming']);
    const [comparison] = json['comparisons'] as { after: { tier: string }; differences: { cause: string }[] }[];
    expect(comparison!.after.tier).toBe('none');
    expect(comparison!.differences.map(({ cause }) => cause)).toContain('expired');
  });

  it('refuses what is no evidence by code', () => {
    const { status, json } = veritrain('evidence', 'verify', '--report', 'package.json', '--kind', 'tdx', '--json');
    expect([status, json['authentic']]).toEqual([1, false]);
    writeFileSync(join(folder, 'noise'), Uint8Array.of(1, 2, 3));
    const noise = veritrain('evidence', 'verify', '--report', join(folder, 'noise'), '--json');
    expect([noise.status, (noise.json['error'] as { code: string }).code]).toEqual([1, 'EVIDENCE_FORMAT']);
  });
});

describe.skipIf(!existsSync(samplesRoot))('evidence show and measure', () => {
  it.each([
    'amd-snp/turin-v5-vcek-azure/report.bin',
    'nvidia-gpu/h100-550.90.07-full/report.bin',
    'intel-tdx/v4-td10-with-collateral/quote.bin',
  ])('accounts for every byte of %s', (file) => {
    const { json, status } = veritrain('evidence', 'show', `${samplesRoot}/${file}`, '--json');
    const [section] = json['sections'] as { fields: { offset: number; size: number }[] }[];
    let end = 0;
    for (const { offset, size } of section!.fields) {
      expect(offset).toBe(end);
      end += size;
    }
    expect([status, end]).toEqual([0, json['bytes']]);
  });

  it('shows a Nitro document as a tree', () => {
    const { stdout } = veritrain('evidence', 'show', `${samplesRoot}/aws-nitro/nitro-eif/attestation.cose`);
    expect(stdout).toMatch(/payload\.pcrs\.0 +5cb70295/);
    expect(stdout).toMatch(/payload\.timestamp .*2025-12-25T13:15:37/);
  });

  it('computes a published launch digest', () => {
    writeFileSync(join(folder, 'empty'), '');
    const guest = [
      '--ovmf',
      `${snp}/launch-digest/ovmf_AmdSev_suffix.bin`,
      '--kernel',
      join(folder, 'empty'),
      '--initrd',
      join(folder, 'empty'),
    ];
    const machine = [
      '--append',
      'console=ttyS0 loglevel=7',
      '--vcpus',
      '1',
      '--vcpu-type',
      'EPYC-v4',
      '--guest-features',
      '0x21',
    ];
    const { json } = veritrain('evidence', 'measure', ...guest, ...machine, '--json');
    expect(json['measurement']).toBe(
      '803f691094946e42068aaa3a8f9e26a5c89f36f7b73ecfb28c653360fe4b3aba7e534442e7e1e17895dfe778d0228977',
    );
  });
});

describe.skipIf(!existsSync(samplesRoot))('evidence of a session', () => {
  it('is shown part by part and judged as one machine', () => {
    const read = (file: string) => new Uint8Array(readFileSync(`${samplesRoot}/composite/tdx-h200-nearai/${file}`));
    const key = new Uint8Array(32).fill(1);
    const account = new Uint8Array(20).fill(2);
    const chain = parsePemCertificates(new TextDecoder().decode(read('gpu-cert-chain.pem')));
    const file = join(folder, 'session.cbor');
    const session = encodeSessionEvidence({
      ...{ version: 2, proof: new Uint8Array(64) },
      nonce: key,
      binding: {
        receiptKey: key,
        settlementKey: account,
        transportKey: key,
        provider: account,
        chainId: 1,
        registry: account,
      },
      cpu: { kind: 'tdx', report: read('tdx-quote.bin'), certificates: [] },
      gpus: [{ report: read('gpu-report.bin'), certificates: chain.map(({ raw }) => raw) }],
      claims: new Uint8Array(),
    });
    writeFileSync(file, session);
    const shown = veritrain('evidence', 'show', file, '--json').json['sections'] as { title: string }[];
    expect(shown.map(({ title }) => title)).toEqual(['session', 'TDX quote, version 4', 'GPU 0']);
    const { json, status } = veritrain('evidence', 'verify', '--report', file, '--at', summer2026, '--json');
    expect([status, json['kind'], json['appraisal']]).toEqual([1, 'session', 'contraindicated']);
    expect(json['codes']).toEqual(expect.arrayContaining(['REPORT_DATA_MISMATCH', 'COMPOSITE_UNBOUND']));
  });
});

describe.skipIf(!existsSync(samplesRoot))('mutilated files', () => {
  it('are shown, read or refused by code', () => {
    const roles = ['report', 'quote', 'document', 'evidenceJson', 'hclReport'];
    const files = loadSamples().flatMap((sample) => roles.flatMap((role) => sample.files.get(role) ?? []));
    expect(files.length).toBeGreaterThan(30);
    let state = 20_261_121;
    const below = (n: number): number => (state = (state * 48_271) % 0x7fffffff) % n;
    const mutants = files.flatMap((file) =>
      Array.from({ length: 40 }, (_, round) => {
        const copy = file.slice(0, round % 4 === 0 ? below(file.length) : file.length);
        for (let i = 0; i < 1 + (round % 5); i++) if (copy.length > 0) copy[below(copy.length)] = below(256);
        return copy;
      }),
    );
    for (const mutant of mutants) {
      for (const step of [
        showEvidence,
        (bytes: Uint8Array, kind: ReturnType<typeof kindOf>) => readPieces(bytes, kind, noEndorsements),
      ]) {
        try {
          step(mutant, kindOf(mutant));
        } catch (error) {
          expect(error).toBeInstanceOf(CodedError);
        }
      }
    }
  });
});

describe('policy', () => {
  const file = join(folder, 'policy.json');
  writeFileSync(file, JSON.stringify(neutralPolicy));

  it('is checked strictly', () => {
    expect(veritrain('policy', 'check', file, '--json').json).toMatchObject({
      ok: true,
      id: 'veritrain:neutral',
      notDemanded: expect.arrayContaining([expect.objectContaining({ field: 'cpuKinds' })]) as unknown,
    });
    const extra = join(folder, 'extra.json');
    writeFileSync(extra, JSON.stringify({ ...neutralPolicy, extra: 1 }));
    const { status, json } = veritrain('policy', 'check', extra, '--json');
    expect([status, (json['error'] as { code: string }).code]).toEqual([1, 'DOCUMENT_SHAPE']);
  });

  it('A-H2 is said in words where it demands nothing, and does not parse for production without pins', () => {
    expect(veritrain('policy', 'check', file).stdout).toMatch(
      /Not demanded:\n(.+\n)*snp\.tcbFloors +firmware of any age/,
    );
    const template = 'apps/key-broker/policies/production-cpu.json';
    const refused = veritrain('policy', 'check', template, '--json');
    const { code, expected } = refused.json['error'] as { code: string; expected: string };
    expect([refused.status, code]).toEqual([1, 'POLICY_NOT_PINNED']);
    expect(expected).toContain('tdx: quote.measurements (MRTD), quote.rtmrs.1, quote.rtmrs.2');
    const filled = JSON.parse(readFileSync(template, 'utf8')) as {
      cpuKinds: string[];
      snp: { measurements: string[] };
    };
    filled.cpuKinds = ['snp'];
    filled.snp.measurements = ['11'.repeat(48)];
    expect(parsePolicy(JSON.stringify(filled)).id).toBe('veritrain:production-cpu');
  });

  it('signs, lists and verifies advisories', () => {
    const key = join(folder, 'advisories.key');
    writeFileSync(key, `0x${'5b'.repeat(32)}\n`, { mode: 0o600 });
    const out = join(folder, 'advisories.cose');
    const source = 'apps/key-broker/policies/advisories.json';
    const signed = veritrain('advisories', 'sign', source, '--key', key, '--out', out, '--json');
    const verified = veritrain('advisories', 'verify', out, '--public-key', String(signed.json['publicKey']), '--json');
    expect(verified.json).toMatchObject({ ok: true, digest: signed.json['digest'] });
    expect(verified.stdout).toContain('AMD-SB-3034');
  });

  it('is signed with a key file and verified by the public key alone', () => {
    const key = join(folder, 'test.key');
    writeFileSync(key, `0x${'5a'.repeat(32)}\n`, { mode: 0o600 });
    const out = join(folder, 'policy.cose');
    const signed = veritrain('policy', 'sign', file, '--key', key, '--out', out, '--json');
    const publicKey = String(signed.json['publicKey']);
    const verified = veritrain('policy', 'verify', out, '--public-key', publicKey, '--json');
    expect(verified.json).toMatchObject({
      ok: true,
      digest: signed.json['digest'],
      policy: { id: 'veritrain:neutral' },
    });
    const other = veritrain('policy', 'verify', out, '--public-key', '22'.repeat(32), '--json');
    expect([other.status, (other.json['error'] as { code: string }).code]).toEqual([1, 'COSE_SIGNATURE']);
  });
});
