/**
 * No verifier changes its input. Every function of attestation's door that verifies, appraises, parses, reads or checks is
 * called with Buffers that are views of larger arrays, as a server gets them: `slice` of a Buffer shares its memory, so
 * what works on a copy of a Uint8Array can corrupt the caller's bytes here.
 */
import { createHash, generateKeyPairSync, sign as signBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import * as judge from '#attestation';
import { signAdvisories } from '#attestation';
import * as base from '#attestation/base';
import * as log from '#attestation/log';
import * as records from '#attestation/records';
import { fakeAmd, fakeAmdAt } from '#test/fake-amd';
import { fakeIntel } from '#test/fake-intel';
import { fakeNitro } from '#test/fake-nitro';
import { createFakeNvidia } from '#test/fake-nvidia';
import { honestEntries, logOf, trustText } from '#test/logged-bundle';
import { loadSamples } from '#test/samples';
import { tinyBundle } from '#test/tiny-bundle';
import { tinyAt } from '#test/tiny-job';
import { tinyRoundBundle } from '#test/tiny-round-bundle';
import { random } from './random.js';

/** `parseCheckpoint` of the log takes text. */
const attestation = { ...judge, ...base, ...log, ...records };

type Args = readonly unknown[];
const family =
  /^(verify|appraise|parse|decode|read|check(?!point)|describe|runSample|recover|certTable|launchDigest|evidenceOf|endorsementsOf|expected)/;

/** They take text, numbers, bits or a reader alone. */
const withoutBytes = new Set([
  ...[
    'parseTermsJson',
    'parseDatasetManifest',
    'readDatasetManifest',
    'parseSealedDataset',
    'readSealedDataset',
    'parsePolicy',
    'checkPolicy',
    'parseAdvisories',
  ],
  ...[
    'parseReferenceValues',
    'parseCollateralBundle',
    'readPcsResponse',
    'parsePemCertificates',
    'readPem',
    'checkLength',
  ],
  ...[
    'parseHashes',
    'parseLogProof',
    'parseNote',
    'parseNoteKey',
    'parseSignatureLine',
    'parseSize',
    'parseTrustPolicy',
  ],
  ...['readGuestPolicy', 'readGuestManifest', 'readPlatformInfo', 'readCheckpointHead'],
]);

const below = random(20_261_122);
const noise = (size: number): Uint8Array => Uint8Array.from({ length: size }, () => below(256));

/** The same value with every byte string as a Buffer inside a larger array, and those arrays. */
function asViews(value: unknown, backing: Uint8Array[]): unknown {
  if (value instanceof Uint8Array) {
    const whole = noise(value.length + 64);
    const offset = 1 + below(63);
    whole.set(value, offset);
    backing.push(whole);
    return Buffer.from(whole.buffer, offset, value.length);
  }
  if (Array.isArray(value)) return value.map((item) => asViews(item, backing));
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, asViews(item, backing)]));
  if (typeof value !== 'object' || value === null || value instanceof Set) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, asViews(item, backing)]));
}

/** An ID block that passes every check but the signature: its halves are turned around before that is looked at. */
function idBlock(): Args {
  const block = noise(96);
  block.set([1, 0, 0, 0], 80);
  const auth = new Uint8Array(4096);
  auth[0] = 1;
  auth[4] = 1;
  for (const key of [0x240, 0x880]) {
    auth[key] = 2;
    auth.set(noise(48), key + 4);
    auth.set(noise(48), key + 76);
  }
  for (const signature of [0x40, 0x680]) {
    auth.set(noise(48), signature);
    auth.set(noise(48), signature + 72);
  }
  return [block, auth];
}

async function cases(): Promise<Readonly<Record<string, readonly Args[]>>> {
  const amd = fakeAmd('milan');
  const at = fakeAmdAt;
  const report = await amd.report();
  const crl = await amd.crl();
  const certificates = amd.certificates;
  const parsed = certificates.map((der) => attestation.parseCertificate(der));
  const [leaf, ...pool] = parsed as [judge.Certificate, ...judge.Certificate[]];
  const snpRequest = { report, certificates, crls: [crl], at, simulatedRoots: amd.roots };
  const snpClaims = (await attestation.verifySnp(snpRequest)).claims!;
  const intel = await fakeIntel({});
  const quoteClaims = (await attestation.verifyQuote(intel)).claims!;
  const nitro = await fakeNitro();
  const nitroClaims = (await attestation.verifyNitro(nitro)).claims!;
  const nvidia = await createFakeNvidia();
  const nonce = noise(32);
  const measurements = new Map([[1, noise(48)]]);
  const gpu = await nvidia.report({ nonce, measurements, driver: '550.90.07', vbios: '009f009601000000' });
  const certificateChain = nvidia.device.map(({ certificate }) => certificate.raw);
  const { bundle, encoded, job } = await tinyBundle();
  const logged = logOf(await honestEntries(job, bundle));
  const [first] = logged.entries as [records.BundledEntry];
  const { bundle: rounds } = await tinyRoundBundle();
  const session = attestation.parseSessionEvidence(bundle.sessions[0]!.evidence);
  const segment = bundle.segments[0]!;
  const statement = attestation.parseStepStatement(segment.statement);
  const round = rounds.segments[0]!;
  const roundStatement = attestation.parseRoundStatement(round.statement);
  const partials = round.partials.map((one) => ({
    statement: attestation.parseStepStatement(one.statement),
    receipt: one.receipt,
  }));
  const roundSpec = attestation.parseJobSpec(rounds.spec);
  const expectedPartial = attestation.partialOf(roundSpec, roundStatement, 0);
  const secret = noise(32);
  const signer = attestation.ed25519Signer(secret);
  const header = { algorithm: 'EdDSA', contentType: 'application/test', keyId: noise(4) } as const;
  const sign1 = await attestation.signSign1(header, noise(20), signer);
  const evaluation: records.EvaluationStatement = {
    ...{ version: 1, jobId: noise(32), programDigest: noise(32), validationRoot: noise(32), step: 8 },
    ...{ weights: noise(32), metrics: [{ metric: 'accuracy', numerator: 1n, denominator: 2n }], end: null },
  };
  const evaluated = await attestation.signEvaluation(evaluation, noise(32), signer);
  const policy = attestation.encodeDocument(attestation.neutralPolicy);
  const advisories = { version: 1, id: 'test', issued: 0, advisories: [] } as const;
  const values: judge.ReferenceValues = {
    ...{ id: 'test', notBefore: 0, snpMeasurements: [], snpIdKeyDigests: [], quoteMeasurements: [] },
    version: 1,
  };
  const signedPolicy = await attestation.signPolicy(attestation.neutralPolicy, noise(4), signer);
  const firmware = noise(4096);
  const file = { sha256: '00'.repeat(32), bytes: 1 };
  const guest: judge.GuestManifest = {
    ...{ version: 1, name: 'test', flavour: 'dev', tag: 'test', commit: '00'.repeat(20), inputs: [], guestSvn: 0 },
    ...{ lockSha256: file.sha256, listSha256: file.sha256, sbomSha256: file.sha256 },
    files: { kernel: file, initrd: file, cmdline: 'test' },
    firmware: { name: 'test', sha256: createHash('sha256').update(firmware).digest('hex'), enforcesHashes: true },
    launch: [],
  };
  const testKey = generateKeyPairSync('ed25519');
  const { x } = testKey.publicKey.export({ format: 'jwk' });
  const publisher = new Uint8Array(Buffer.from(x!, 'base64url'));
  const sign = (toBeSigned: Uint8Array): Uint8Array => new Uint8Array(signBytes(null, toBeSigned, testKey.privateKey));
  const signedGuest = await attestation.signGuestManifest(guest, publisher, sign);
  const evidence = attestation.evidenceOfSession(session);
  const endorsements = attestation.endorsementsOfSession(session);
  const request = { evidence, endorsements, policy: attestation.neutralPolicy, nonce: session.nonce, at };
  const hcl = loadSamples('amd-snp')
    .find(({ files }) => files.has('hclReport'))
    ?.files.get('hclReport');
  const hclReport = hcl ?? noise(2600);
  const table = new Uint8Array(96);
  table.set(noise(16));
  table.set([48, 0, 0, 0, 48, 0, 0, 0], 16);
  const gpuJson = loadSamples('nvidia-gpu')
    .find(({ files }) => files.has('evidenceJson'))
    ?.files.get('evidenceJson');
  const samples = loadSamples().filter((_, index) => index % 6 === 0);
  const ovmf =
    loadSamples('amd-snp')
      .find(({ files }) => files.has('ovmfAmdSev'))
      ?.files.get('ovmfAmdSev') ?? noise(4096);
  const der = parsed[0]!;
  return {
    decodeCanonical: [[attestation.encodeCanonical(new Map([['a', [noise(4), 1]]]))]],
    readSign1: [[sign1, 'tagged']],
    verifySign1: [[attestation.readSign1(sign1, 'tagged'), { algorithm: 'EdDSA', publicKey: noise(32) }]],
    recoverAddress: [[noise(32), noise(65)]],
    decodeTerms: [[bundle.terms]],
    decodeFormerTerms: [[bundle.terms], [noise(1024)]],
    parseFormerTermsJson: [[{ client: noise(20) }]],
    verifySessionProof: [[session]],
    checkChallenge: [[noise(32), noise(32)]],
    parseChallenge: [[noise(32)], [new Uint8Array(32)]],
    parseFormerSessionEvidence: [[bundle.sessions[0]!.evidence]],
    parseEndorsements: [[attestation.encodeEndorsements(bundle.endorsements)]],
    endorsementsOfRecord: [[{ ...bundle.endorsements, crls: [noise(40)] }]],
    parseStepStatement: [[segment.statement]],
    parseJobSpec: [[bundle.spec], [rounds.spec]],
    parseCheckpoint: [[noise(300)]],
    parsePiecesHead: [[noise(300)], [noise(8)]],
    parseEvaluation: [[attestation.encodeEvaluation(evaluation)], [noise(300)]],
    verifyEvaluation: [[evaluated, evaluation, noise(32)]],
    parseBundle: [[encoded], [attestation.encodeBundle(rounds)]],
    verifyBundle: [
      [{ bundle: encoded, at: tinyAt + 60 }],
      [{ bundle: attestation.encodeBundle(rounds), at: tinyAt }],
      [
        {
          bundle: attestation.encodeBundle({ ...bundle, log: logged }),
          logPolicy: attestation.parseTrustPolicy(trustText),
        },
      ],
    ],
    parseBundledLog: [[attestation.encodeBundledLog(logged)], [noise(300)]],
    parseEntry: [[first.entry], [noise(300)]],
    verifyEntry: [[first.entry, noise(32)]],
    checkInclusion: [[noise(32), 0, { size: 2, root: noise(32) }, [noise(32)]]],
    checkConsistency: [[{ size: 1, root: noise(32) }, { size: 2, root: noise(32) }, [noise(32)]]],
    parseLogExport: [
      [
        attestation.encodeLogExport({
          v: 1,
          note: 'n',
          revocations: [{ entry: noise(40), index: 0, path: [noise(32)] }],
        }),
      ],
    ],
    verifyLogProof: [[attestation.parseLogProof(first.proof), noise(32), attestation.parseTrustPolicy(trustText)]],
    expectedGpuNonce: [[session]],
    expectedReportData: [[session]],
    parseSessionEvidence: [[bundle.sessions[0]!.evidence]],
    evidenceOfSession: [[session]],
    endorsementsOfSession: [[session]],
    parseDataKey: [[noise(64)]],
    checkPartial: [[expectedPartial, partials[0]!.statement, 'test']],
    checkPartials: [[roundSpec, roundStatement, partials]],
    parseRoundStatement: [[round.statement]],
    verifyRoundReceipt: [[round.signed!.receipt, roundStatement, session.binding.receiptKey]],
    verifyReceipt: [[segment.signed!.receipt, statement, session.binding.receiptKey]],
    describeSnpReport: [[report]],
    parseSnpReport: [[report], [noise(1184)]],
    readTcb: [[noise(8), 0]],
    readSnpEndorsement: [[leaf]],
    certTableEndorsements: [[table]],
    parseCertTable: [[table]],
    appraiseQuote: [[quoteClaims, attestation.neutralQuotePolicy]],
    parseQuote: [[intel.quote]],
    verifyQuote: [[intel]],
    appraiseNitro: [[nitroClaims, attestation.neutralNitroPolicy, nitro.at]],
    verifyNitro: [[nitro]],
    verifySnp: [[snpRequest]],
    appraiseSnp: [[snpClaims, attestation.neutralSnpPolicy, at]],
    verifyGuestManifest: [[signedGuest, publisher]],
    verifyLaunches: [[guest, firmware]],
    readMaterial: [[crl], [report], [der.raw], [noise(400)]],
    readSession: [[bundle.sessions[0]!.evidence]],
    launchDigest: [[{ firmware: ovmf, vcpus: 2, cpuSignature: 0, guestFeatures: 1n, vmm: 'QEMU' }]],
    verifyIdBlock: [idBlock()],
    parseHclReport: [[hclReport]],
    checkHclBinding: [[{ runtimeClaims: noise(10) }, noise(64)]],
    parseCertificate: certificates.map((one) => [one]),
    verifyPath: [[{ leaf, pool, rootSpkiSha256: new Set([amd.vendor.arkSpkiSha256]), at }]],
    parseCrl: [[crl]],
    verifyCrl: [[attestation.parseCrl(crl), pool[1]]],
    decodePolicy: [[policy]],
    verifyPolicy: [[signedPolicy, noise(32)]],
    decodeAdvisories: [[attestation.encodeDocument(advisories)]],
    verifyAdvisories: [[await signAdvisories(advisories, noise(4), signer), noise(32)]],
    verifyReferenceValues: [[await attestation.signReferenceValues(values, noise(4), signer), noise(32)]],
    appraise: [
      [request],
      [{ ...request, evidence: { kind: 'nvidia', report: gpu, certificateChain }, nonce }],
      [{ ...request, evidence: { kind: 'tdx', quote: intel.quote } }],
      [{ ...request, evidence: { kind: 'nitro', document: nitro.document } }],
    ],
    verifySignedResult: [[bundle.sessions[0]!.result, noise(32)]],
    runSample: samples.map((sample) => [sample]),
    verifySignature: [['ecdsa-p384-sha384', der.spki, noise(96), noise(40)]],
    parsePckExtension: [[noise(60)]],
    verifyNvidia: [[{ report: gpu, certificateChain, rims: [], ocspAnswers: [], at, nonce }]],
    parseGpuReport: [[gpu]],
    parseGpuEvidence: [[gpuJson ?? noise(100)]],
  };
}

const exported = Object.entries(attestation).filter(
  ([name, value]) => typeof value === 'function' && family.test(name),
);
const names = exported.map(([name]) => name).filter((name) => !withoutBytes.has(name));

describe('no verifier changes its input', () => {
  let table: Readonly<Record<string, readonly Args[]>>;
  beforeAll(async () => void (table = await cases()), 120_000);

  it('every one that is exported has a case here', () => {
    expect(names.filter((name) => !Object.hasOwn(table, name))).toEqual([]);
    expect(Object.keys(table).filter((name) => !names.includes(name))).toEqual([]);
  });

  it.each(names)('%s', async (name) => {
    const call = (attestation as unknown as Record<string, (...args: unknown[]) => unknown>)[name]!;
    for (const args of table[name]!) {
      const backing: Uint8Array[] = [];
      const views = args.map((argument) => asViews(argument, backing));
      expect(backing.length).toBeGreaterThan(0);
      const before = backing.map((whole) => Buffer.from(whole).toString('hex'));
      try {
        await call(...views);
      } catch (error) {
        if (!(error instanceof attestation.CodedError)) throw error;
      }
      expect(backing.map((whole) => Buffer.from(whole).toString('hex'))).toEqual(before);
    }
  });
});
