import { describe, expect, it } from 'vitest';
import { fakeIntel, type FakeOptions } from '#test/fake-intel';
import { tierOf } from '../check/checks.js';
import { appraiseQuote, neutralQuotePolicy, type QuotePolicy } from './policy.js';
import { verifyQuote, type QuoteRequest } from './verify.js';

/** Tier and the codes that are not met. */
async function judge(request: QuoteRequest, policy: QuotePolicy = neutralQuotePolicy) {
  const verified = await verifyQuote(request);
  const checks = [...verified.checks, ...(verified.claims ? appraiseQuote(verified.claims, policy) : [])];
  const failed = checks.filter(({ status }) => status !== 'met').map(({ code, status }) => `${code} ${status}`);
  return { authenticity: verified.authenticity, tier: tierOf(checks), failed };
}

const affirmed = { authenticity: 'authentic', tier: 'affirming', failed: [] };
const module = (change: object) => ({
  tdxModuleIdentities: [
    {
      id: 'TDX_01',
      mrsigner: '0'.repeat(96),
      attributes: '0'.repeat(16),
      attributesMask: 'F'.repeat(16),
      tcbLevels: [{ tcb: { isvsvn: 4 }, tcbDate: '2024-03-13T00:00:00Z', tcbStatus: 'UpToDate' }],
      ...change,
    },
  ],
});
const levels = (tcbStatus: string) => [
  {
    tcb: {
      sgxtcbcomponents: Array.from({ length: 16 }, () => ({ svn: 5 })),
      pcesvn: 10,
      tdxtcbcomponents: Array.from({ length: 16 }, () => ({ svn: 0 })),
    },
    tcbDate: '2024-03-13T00:00:00Z',
    tcbStatus,
  },
];
const bytes = (...values: number[]) => Uint8Array.from(values);

describe('a made-up Intel platform', () => {
  for (const options of [
    { kind: 'sgx' },
    { kind: 'sgx', version: 4 },
    { kind: 'sgx', version: 5 },
    {},
    { version: 5 },
    { kind: 'td15' },
  ] as const) {
    it(`is affirmed: ${JSON.stringify(options)}`, async () => {
      expect(await judge(await fakeIntel(options))).toEqual(affirmed);
    });
  }

  const refused: [string, FakeOptions, string[]][] = [
    ['debug TD', { body: [[120, bytes(1, 0, 0, 0x10)]] }, ['TDX_DEBUG refused']],
    ['unknown TD attribute', { body: [[121, bytes(1)]] }, ['TDX_ATTRIBUTES refused']],
    ['XFAM without a fixed-1 bit', { body: [[128, bytes(0xe6)]] }, ['TDX_XFAM refused']],
    ['XFAM with a fixed-0 bit', { body: [[129, bytes(4)]] }, ['TDX_XFAM refused']],
    [
      'a TDX module with attributes',
      { body: [[112, bytes(1)]] },
      ['TDX_MODULE refused', 'TDX_MODULE_IDENTITY refused'],
    ],
    [
      'a TDX module of another signer',
      { body: [[64, bytes(9)]] },
      ['TDX_MODULE refused', 'TDX_MODULE_IDENTITY refused'],
    ],
    [
      'a TDX module version that is not listed',
      { body: [[1, bytes(2)]] },
      ['QUOTE_TCB_STATUS refused', 'TDX_MODULE_IDENTITY refused'],
    ],
    ['an SVN of the TDX module below every level', { body: [[0, bytes(3)]] }, ['QUOTE_TCB_STATUS refused']],
    ['debug enclave', { kind: 'sgx', body: [[48, bytes(7)]] }, ['SGX_DEBUG refused']],
    ['a platform below every level', { platform: { svn: 4 } }, ['QUOTE_TCB_STATUS refused']],
    ['a PCE below every level', { platform: { pceSvn: 9 } }, ['QUOTE_TCB_STATUS refused']],
    ['an out-of-date platform', { tcbInfo: { tcbLevels: levels('OutOfDate') } }, ['QUOTE_TCB_STATUS refused']],
    ['a revoked TCB level', { tcbInfo: { tcbLevels: levels('Revoked') } }, ['QUOTE_TCB_STATUS refused']],
    [
      'an out-of-date TDX module',
      { tcbInfo: module({ tcbLevels: [{ tcb: { isvsvn: 2 }, tcbDate: '', tcbStatus: 'OutOfDate' }] }) },
      ['QUOTE_TCB_STATUS refused'],
    ],
    [
      'a QE below every level',
      { qeIdentity: { tcbLevels: [{ tcb: { isvsvn: 5 }, tcbDate: '', tcbStatus: 'UpToDate' }] } },
      ['QUOTE_TCB_STATUS refused'],
    ],
    [
      'collateral signed with the PCK',
      { collateralSigner: 'pck' },
      [
        'QUOTE_TCB_INFO_SIGNER refused',
        'QUOTE_QE_IDENTITY_SIGNER refused',
        'QUOTE_QE_MISMATCH missing',
        'QUOTE_TCB_STATUS missing',
        'TDX_MODULE_IDENTITY missing',
      ],
    ],
    ['a revoked PCK', { revoked: 'pck' }, ['QUOTE_REVOKED refused']],
    ['a revoked PCK CA', { revoked: 'pckCa' }, ['QUOTE_REVOKED refused']],
    ['a revoked TCB signer', { revoked: 'tcbSigner' }, ['QUOTE_REVOKED refused']],
  ];
  for (const [what, options, failed] of refused) {
    it(`is authentic and refused: ${what}`, async () => {
      expect(await judge(await fakeIntel(options))).toEqual({
        authenticity: 'authentic',
        tier: 'contraindicated',
        failed,
      });
    });
  }

  for (const status of ['SWHardeningNeeded', 'ConfigurationNeeded', 'ConfigurationAndSWHardeningNeeded']) {
    it(`is warned about: ${status}`, async () => {
      const verdict = await judge(await fakeIntel({ tcbInfo: { tcbLevels: levels(status) } }));
      expect(verdict).toEqual({ authenticity: 'authentic', tier: 'warning', failed: ['QUOTE_TCB_STATUS warned'] });
    });
  }

  const unknown: [string, FakeOptions, string][] = [
    ['TCB info of another platform', { tcbInfo: { fmspc: '00A067110000' } }, 'QUOTE_TCB_INFO_OTHER_PLATFORM'],
    ['TCB info of another PCE', { tcbInfo: { pceId: '0001' } }, 'QUOTE_TCB_INFO_OTHER_PLATFORM'],
    ['SGX TCB info for a TD', { tcbInfo: { id: 'SGX' } }, 'QUOTE_TCB_INFO_OTHER_PLATFORM'],
    ['TCB info of yesterday', { tcbInfo: { nextUpdate: '2025-06-19T12:00:00Z' } }, 'QUOTE_TCB_INFO_EXPIRED'],
    ['TCB info of tomorrow', { tcbInfo: { issueDate: '2025-06-19T12:00:01Z' } }, 'QUOTE_TCB_INFO_NOT_YET'],
    ['QE identity of yesterday', { qeIdentity: { nextUpdate: '2025-06-19T12:00:00Z' } }, 'QUOTE_QE_IDENTITY_EXPIRED'],
    ['identity of another enclave', { qeIdentity: { id: 'QE' } }, 'QUOTE_QE_IDENTITY_OTHER_ENCLAVE'],
    ['stale revocation lists', { crlNextUpdate: new Date('2025-06-19T12:00:00Z') }, 'QUOTE_REVOKED'],
  ];
  for (const [what, options, code] of unknown) {
    it(`is authentic and undecided: ${what}`, async () => {
      const verdict = await judge(await fakeIntel(options));
      expect(verdict).toMatchObject({ authenticity: 'authentic', tier: 'none' });
      expect(verdict.failed).toContain(`${code} missing`);
    });
  }

  const forged: [string, FakeOptions, string][] = [
    ['another quoting enclave', { qeIdentity: { mrsigner: 'dd'.repeat(32) } }, 'QUOTE_QE_MISMATCH'],
    ['another product of the signer', { qeIdentity: { isvprodid: 3 } }, 'QUOTE_QE_MISMATCH'],
    ['a debug quoting enclave', { qeAttributes: bytes(0x13) }, 'QUOTE_QE_MISMATCH'],
    ['report data of the QE with a tail', { qeReportDataTail: bytes(1) }, 'QUOTE_ATTESTATION_KEY'],
    ['another miscselect', { qeIdentity: { miscselect: '00000001' } }, 'QUOTE_QE_MISMATCH'],
  ];
  for (const [what, options, code] of forged.filter(([, , code]) => code !== '')) {
    it(`is forged: ${what}`, async () => {
      const verdict = await judge(await fakeIntel(options));
      expect(verdict).toMatchObject({ authenticity: 'forged', tier: 'contraindicated' });
      expect(verdict.failed).toContain(`${code} forged`);
    });
  }

  it('is undecided without any collateral, and never affirmed', async () => {
    const { quote, at, pins } = await fakeIntel();
    const verdict = await judge({ quote, at, pins });
    expect(verdict).toMatchObject({ authenticity: 'authentic', tier: 'none' });
  });

  it('is refused when one of its lists is signed by someone else', async () => {
    const request = await fakeIntel();
    const other = await fakeIntel();
    const verdict = await judge({ ...request, crls: [request.crls[0]!, other.crls[1]!] });
    expect(verdict.failed).toContain('X509_SIGNATURE refused');
    expect(verdict.tier).toBe('contraindicated');
  });

  it('takes a current list beside an outdated one, but never overlooks a revocation', async () => {
    expect(await judge(await fakeIntel({ olderPckList: 'empty' }))).toEqual(affirmed);
    expect((await judge(await fakeIntel({ olderPckList: 'pck' }))).failed).toEqual(['QUOTE_REVOKED refused']);
    const request = await fakeIntel();
    expect((await judge({ ...request, crls: [request.crls[0]!] })).failed).toEqual(['QUOTE_REVOKED missing']);
    expect((await judge({ ...request, crls: [request.crls[1]!] })).failed).toEqual(['QUOTE_REVOKED missing']);
  });

  it('tells until when its material holds', async () => {
    const { claims } = await verifyQuote(await fakeIntel());
    expect(claims?.notAfter).toBe(Date.parse('2025-07-01T00:00:00Z') / 1000);
    const beside = await verifyQuote(await fakeIntel({ olderPckList: 'empty' }));
    expect(beside.claims?.notAfter).toBe(claims?.notAfter);
  });

  it('is forged under another root', async () => {
    const request = await fakeIntel();
    expect((await judge({ ...request, pins: (await fakeIntel()).pins })).failed).toContain('X509_PATH_ROOT forged');
  });

  it('obeys the policy: measurements, stray bytes, statuses', async () => {
    const request = await fakeIntel();
    const listed = { ...neutralQuotePolicy, measurements: ['00'.repeat(48)] };
    expect(await judge(request, listed)).toEqual(affirmed);
    expect((await judge(request, { ...listed, measurements: [] })).failed).toEqual(['QUOTE_MEASUREMENT refused']);
    const strict = { ...neutralQuotePolicy, refuseStrayBytes: true };
    const quote = (...tail: number[]) => Uint8Array.from([...request.quote, ...tail]);
    expect(await judge({ ...request, quote: quote(0, 0) }, strict)).toEqual(affirmed);
    expect((await judge({ ...request, quote: quote(0, 1) }, strict)).failed).toContain('QUOTE_STRAY_BYTES refused');
    expect((await judge({ ...request, quote: quote(0, 1) })).tier).toBe('warning');
    const lax = { ...neutralQuotePolicy, acceptedStatuses: ['Revoked', 'OutOfDate'] as const };
    const revoked = await fakeIntel({ tcbInfo: { tcbLevels: levels('Revoked') } });
    expect((await judge(revoked, lax)).failed).toEqual(['QUOTE_TCB_STATUS refused']);
    const old = await fakeIntel({ tcbInfo: { tcbLevels: levels('OutOfDate') } });
    expect(await judge(old, lax)).toEqual(affirmed);
  });
});
