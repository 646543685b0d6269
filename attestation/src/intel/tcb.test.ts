import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { toHex } from '../base/bytes.js';
import { parseQuote } from './quote.js';
import { parseQeIdentity, parseTcbInfo, type PlatformLevel } from './tcb-info.js';
import { combineStatuses, differingQeFields, judgeModule, selectPlatformLevel, selectSvnLevel } from './tcb.js';

const vectors = process.env['VERITRAIN_VECTORS'] ?? '../shared/vectors';

interface ManifestEntry {
  id: string;
  files: Record<string, { file: string }>;
  parsed: { version: number; body: string; pceSvn: number; sgxComponents: number[]; fields: Record<string, string> };
  collateralEvaluation: null | {
    ownEvaluation: {
      tcbLevel: [string, string, string[] | null] | null;
      moduleStatus?: string;
      qeStatus: string;
      qeSvn: number;
    };
  };
}

describe.skipIf(!existsSync(vectors))('samples', () => {
  for (const folder of ['intel-tdx', 'intel-sgx']) {
    const read = (file: string) => readFileSync(join(vectors, folder, file));
    const entries = existsSync(vectors) ? (JSON.parse(read('manifest.json').toString()) as ManifestEntry[]) : [];
    for (const entry of entries) {
      const quote = () => parseQuote(read(entry.files['quote']!.file));

      it(`${folder}/${entry.id}: fields lie where the manifest says`, () => {
        const { version, body } = quote();
        expect({ version, kind: body.kind }).toEqual({ version: entry.parsed.version, kind: entry.parsed.body });
        const expected = Object.values(entry.parsed.fields).sort();
        const values = Object.values(body.report).map(toHex);
        expect(values.join('').length).toBe(expected.join('').length);
        if (body.kind !== 'sgx') expect(values.sort()).toEqual(expected);
      });

      const evaluation = entry.collateralEvaluation?.ownEvaluation;
      if (!evaluation) continue;
      it(`${folder}/${entry.id}: levels as evaluated by two other implementations`, () => {
        const collateral = JSON.parse(read(entry.files['collateral']!.file).toString()) as Record<string, string>;
        const info = parseTcbInfo(collateral['tcb_info']!);
        const identity = parseQeIdentity(collateral['qe_identity']!);
        const { body, qeReport } = quote();
        const svn = body.kind === 'sgx' ? undefined : body.report.teeTcbSvn;
        const platform = { components: entry.parsed.sgxComponents, pceSvn: entry.parsed.pceSvn };
        const level = selectPlatformLevel(info.tcbLevels, platform, svn);
        const seen = level && [level.tcbStatus, level.tcbDate, level.advisoryIDs.length ? level.advisoryIDs : null];
        expect(seen ?? null).toEqual(evaluation.tcbLevel);
        if (body.kind !== 'sgx') {
          const module = judgeModule(info, body.report);
          expect([module.known, module.level?.tcbStatus]).toEqual([true, evaluation.moduleStatus]);
        }
        expect(differingQeFields(identity, qeReport)).toEqual([]);
        expect(selectSvnLevel(identity.tcbLevels, evaluation.qeSvn)?.tcbStatus).toBe(evaluation.qeStatus);
      });
    }
  }
});

const sixteen = (svn: number) => Array.from({ length: 16 }, () => svn);
const level = (sgx: number, pcesvn: number, tdx: number[]): PlatformLevel => ({
  tcbStatus: 'UpToDate',
  tcbDate: `${sgx}/${pcesvn}/${tdx[0]}`,
  advisoryIDs: [],
  tcb: { sgxtcbcomponents: sixteen(sgx), pcesvn, tdxtcbcomponents: tdx },
});

describe('selectPlatformLevel', () => {
  const levels = [level(5, 10, sixteen(3)), level(4, 10, sixteen(2)), level(4, 9, sixteen(1))];

  it('takes the first level that every component reaches', () => {
    expect(selectPlatformLevel(levels, { components: sixteen(5), pceSvn: 10 })).toBe(levels[0]);
    expect(selectPlatformLevel(levels, { components: sixteen(4), pceSvn: 10 })).toBe(levels[1]);
    expect(selectPlatformLevel(levels, { components: sixteen(9), pceSvn: 9 })).toBe(levels[2]);
    expect(selectPlatformLevel(levels, { components: sixteen(9), pceSvn: 8 })).toBeUndefined();
  });

  it('compares component by component, never as one number', () => {
    for (let i = 0; i < 16; i++) {
      const components = sixteen(255);
      components[i] = 3;
      expect(selectPlatformLevel(levels, { components, pceSvn: 99 })).toBeUndefined();
    }
  });

  it('leaves TDX components 0 and 1 to the module identities when the module has a version', () => {
    const platform = { components: sixteen(5), pceSvn: 10 };
    const svn = Uint8Array.from([1, 1, ...sixteen(3).slice(2)]);
    expect(selectPlatformLevel(levels, platform, svn)).toBe(levels[0]);
    svn[1] = 0;
    expect(selectPlatformLevel(levels, platform, svn)).toBeUndefined();
    expect(selectPlatformLevel(levels, platform, Uint8Array.from([3, 1, 2, ...sixteen(3).slice(3)]))).toBe(levels[1]);
  });
});

describe('combineStatuses', () => {
  it('lets no part be better than the whole', () => {
    expect(combineStatuses('UpToDate', ['UpToDate', 'UpToDate'])).toBe('UpToDate');
    expect(combineStatuses('SWHardeningNeeded', ['UpToDate'])).toBe('SWHardeningNeeded');
    expect(combineStatuses('UpToDate', ['OutOfDate'])).toBe('OutOfDate');
    expect(combineStatuses('ConfigurationNeeded', ['OutOfDate'])).toBe('OutOfDateConfigurationNeeded');
    expect(combineStatuses('OutOfDate', ['UpToDate', 'Revoked'])).toBe('Revoked');
    expect(combineStatuses('Revoked', ['UpToDate'])).toBe('Revoked');
  });
});

describe('documents', () => {
  it('refuse dates that do not exist, missing members and other versions', () => {
    const identity = {
      id: 'QE',
      version: 2,
      issueDate: '2025-06-19T10:16:03Z',
      nextUpdate: '2025-07-19T10:16:03Z',
      tcbEvaluationDataNumber: 17,
      miscselect: '00000000',
      miscselectMask: 'FFFFFFFF',
      attributes: '0'.repeat(32),
      attributesMask: 'F'.repeat(32),
      mrsigner: '0'.repeat(64),
      isvprodid: 1,
      tcbLevels: [{ tcb: { isvsvn: 4 }, tcbDate: '2024-03-13T00:00:00Z', tcbStatus: 'UpToDate' }],
    };
    expect(parseQeIdentity(JSON.stringify(identity))).toMatchObject({ issueDate: 1750328163, nextUpdate: 1752920163 });
    expect(() => parseQeIdentity('{')).toThrow('QUOTE_COLLATERAL_FORMAT');
    for (const change of [
      { issueDate: '2025-02-29T10:16:03Z' },
      { issueDate: '2025-06-19 10:16:03' },
      { version: 3 },
      { id: 'QVE' },
      { mrsigner: '00' },
      { isvprodid: 65536 },
      { tcbLevels: [{ tcb: { isvsvn: 4 }, tcbDate: '', tcbStatus: 'Fine' }] },
      { tcbLevels: Array.from({ length: 257 }, () => identity.tcbLevels[0]) },
    ]) {
      expect(() => parseQeIdentity(JSON.stringify({ ...identity, ...change }))).toThrow();
    }
    for (const name of Object.keys(identity)) {
      expect(() => parseQeIdentity(JSON.stringify({ ...identity, [name]: undefined }))).toThrow('MESSAGE_SHAPE');
    }
  });
});
