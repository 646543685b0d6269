/** Documents are valid by their published schemas, say what each value rests on, and lend nobody credit. */
import { createHash, createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { verifyBundle } from '#attestation';
import { encodeBundle } from '#attestation/records';
import { billFaults, modelSignatureFaults, statementFaults } from '#test/document-schemas';
import { evaluatedBundle } from '#test/evaluated-bundle';
import { fixturePath } from '#test/fixture';
import {
  documentFormats,
  makeDocument,
  readDeclared,
  readEcdsaKey,
  reviewBundle,
  type BundleVerdict,
  type DocumentFormat,
  type DocumentInput,
} from '../index.js';

const bundle = new Uint8Array(readFileSync(fixturePath('bundles/version-4.cbor')));
const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const files = ['model.onnx', 'b/weights.bin'].map((name) => ({ name, sha256: digestOf(name), bytes: name.length }));
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const key = readEcdsaKey(Buffer.from(pair.privateKey.export({ type: 'pkcs8', format: 'pem' })));
const at = 1_790_000_000;
let verdict: BundleVerdict;
let input: DocumentInput;

beforeAll(async () => {
  verdict = await reviewBundle({ bundle });
  input = { bundle, verdict, files, declared: {}, modelName: 'digits', key, at };
});

/** Of the members that these tests look at. */
interface Shown {
  readonly metadata: { readonly properties: readonly { readonly name: string; readonly value: string }[] };
  readonly serialNumber: string;
  readonly subject: readonly { readonly name: string; readonly digest: Readonly<Record<string, string>> }[];
  readonly predicate: {
    readonly weights: { readonly basis: string };
    readonly resources: readonly { readonly name: string }[];
    readonly verificationResult: string;
  };
  readonly dsseEnvelope: {
    readonly payload: string;
    readonly payloadType: string;
    readonly signatures: readonly { readonly sig: string }[];
  };
  readonly verificationMaterial: { readonly publicKey: { readonly hint: string } };
}

const textOf = (format: DocumentFormat, changed: Partial<DocumentInput> = {}): string =>
  Buffer.from(makeDocument(format, { ...input, ...changed })).toString();
const jsonOf = (format: DocumentFormat, changed: Partial<DocumentInput> = {}) =>
  JSON.parse(textOf(format, changed)) as Shown;
/** As on real hardware: the same checks, and nothing simulated. */
const real = (): BundleVerdict => ({ ...verdict, simulated: false });

describe('a CycloneDX bill', () => {
  const declared = {
    ...{ modelName: 'Digits', modelVersion: '1', producer: 'Example', modelLicense: 'Example licence' },
    ...{ intendedPurpose: 'reading digits', limitations: 'digits alone', datasetSensitivity: 'public' },
    ...{ datasetName: 'MNIST', datasetLicense: 'Example licence', datasetProvenance: 'scanned forms' },
  };

  it('is valid by the schema of CycloneDX 1.6, with and without what a provider declares', () => {
    const faults = billFaults();
    expect(faults(jsonOf('cyclonedx'))).toEqual([]);
    expect(faults(jsonOf('cyclonedx', { declared, files: [] }))).toEqual([]);
    expect(faults({ ...jsonOf('cyclonedx'), version: 0 })).not.toEqual([]);
  });

  it('fills all seven clusters and says what is not in the evidence', () => {
    const text = textOf('cyclonedx');
    for (const cluster of [
      ...['metadata', 'system level properties', 'models', 'dataset properties', 'key performance indicators'],
      ...['infrastructure', 'security properties'],
    ]) {
      expect(text).toContain(`"value": "${cluster}"`);
    }
    expect(text).toContain('datasetProvenance');
    expect(textOf('cyclonedx', { declared })).not.toContain('"value": "modelName');
  });

  it('marks each of the fifty elements with its cluster, what it rests on and where it stands', () => {
    const rows = (changed: Partial<DocumentInput>) => {
      const document = jsonOf('cyclonedx', changed);
      const all = document.metadata.properties.filter(({ name }) => name.startsWith('veritrain:g7:'));
      return all.map(({ name, value }) => {
        const [basis, pointer = ''] = value.split(' ');
        const place = pointer.split('/').slice(1);
        const stands = place.reduce<unknown>(
          (one, key) => (one as Record<string, unknown> | undefined)?.[key],
          document,
        );
        return { name: name.slice('veritrain:g7:'.length), basis: basis!, isThere: stands !== undefined };
      });
    };
    const bare = rows({});
    expect([bare.length, new Set(bare.map(({ name }) => name.split(':')[0])).size]).toEqual([50, 7]);
    expect(bare.filter(({ isThere }) => !isThere)).toEqual([]);
    const proved = rows({ declared, verdict: real() });
    expect(proved.filter(({ isThere }) => !isThere)).toEqual([]);
    const absent = (all: typeof bare) => all.filter(({ basis }) => basis === 'absent').length;
    expect(absent(proved)).toBeLessThan(absent(bare));
    expect(bare.some(({ basis }) => basis === 'attested')).toBe(false);
    expect(proved.find(({ name }) => name === 'dataset properties:Hash')?.basis).toBe('attested');
  });

  it('has one serial number for one bundle', () => {
    expect(jsonOf('cyclonedx').serialNumber).toBe(jsonOf('cyclonedx', { at: at + 1 }).serialNumber);
    expect(jsonOf('cyclonedx').serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab]/);
  });
});

describe('what a value rests on', () => {
  const basisOf = (changed: Partial<DocumentInput>): string => jsonOf('in-toto', changed).predicate.weights.basis;

  it('is a declaration where the hardware is simulated, else what every segment has', () => {
    expect(basisOf({})).toBe('declared');
    expect(basisOf({ verdict: real() })).toBe('attested');
    const segments = verdict.segments.map((one) => ({ ...one, isProved: true }));
    expect(basisOf({ verdict: { ...real(), segments } })).toBe('proved');
    expect(basisOf({ verdict: { ...verdict, segments } })).toBe('proved');
    const [first, ...rest] = segments;
    const gap = [{ ...first!, isProved: false, isSigned: false }, ...rest];
    expect(basisOf({ verdict: { ...real(), segments: gap } })).toBe('declared');
    expect(basisOf({ verdict: { ...real(), tier: 'none' } })).toBe('declared');
  });

  it.each(Object.keys(documentFormats) as DocumentFormat[])(
    'is no matter where the bundle does not show what it claims: %s refuses',
    (format) => {
      const bad: BundleVerdict = { ...verdict, tier: 'contraindicated' };
      expect(() => makeDocument(format, { ...input, verdict: bad })).toThrow('REPORT_VERDICT');
    },
  );
});

describe('an in-toto statement', () => {
  it('is valid, and its subject is the files or the commitment to the weights', () => {
    const faults = statementFaults('in-toto-statement');
    expect(faults(jsonOf('in-toto'))).toEqual([]);
    expect(faults(jsonOf('in-toto', { files: [] }))).toEqual([]);
    expect(jsonOf('in-toto').subject[0]).toEqual({ name: 'model.onnx', digest: { sha256: digestOf('model.onnx') } });
    expect(jsonOf('in-toto', { files: [] }).subject[0]!.digest).toEqual({ veritrainWeights: verdict.result });
  });

  it('of a verification is valid and passes on real hardware alone', () => {
    const faults = statementFaults('verification-summary');
    expect(faults(jsonOf('vsa'))).toEqual([]);
    expect(jsonOf('vsa').predicate).toMatchObject({ verificationResult: 'FAILED', verifiedLevels: [] });
    const passed = jsonOf('vsa', { verdict: real() });
    expect(faults(passed)).toEqual([]);
    expect(passed.predicate).toMatchObject({
      verificationResult: 'PASSED',
      verifiedLevels: ['VERITRAIN_TRAINING_ATTESTED'],
    });
    expect(jsonOf('vsa', { verdict: { ...real(), tier: 'none' } }).predicate.verificationResult).toBe('FAILED');
  });
});

describe('a model signature', () => {
  it('is valid by the schemas of OMS 1.0, and verifies as its signers do', () => {
    const made = jsonOf('model-signature');
    expect(modelSignatureFaults('bundle')(made)).toEqual([]);
    const { payload, payloadType, signatures } = made.dsseEnvelope;
    const statement = Buffer.from(payload, 'base64');
    expect(modelSignatureFaults('statement')(JSON.parse(statement.toString()))).toEqual([]);
    const head = Buffer.from(`DSSEv1 ${payloadType.length} ${payloadType} ${statement.length} `);
    const signature = Buffer.from(signatures[0]!.sig, 'base64');
    expect(verify('sha256', Buffer.concat([head, statement]), pair.publicKey, signature)).toBe(true);
    statement[40]! ^= 1;
    expect(verify('sha256', Buffer.concat([head, statement]), pair.publicKey, signature)).toBe(false);
    const pem = createPublicKey(pair.privateKey).export({ type: 'spki', format: 'pem' }) as string;
    expect(made.verificationMaterial.publicKey.hint).toBe(digestOf(pem));
  });

  it('orders files by name and binds them in the root', () => {
    const statement = (of: typeof files) =>
      JSON.parse(
        Buffer.from(jsonOf('model-signature', { files: of }).dsseEnvelope.payload, 'base64').toString(),
      ) as Shown;
    const { predicate, subject } = statement(files);
    expect(predicate.resources.map(({ name }) => name)).toEqual(['b/weights.bin', 'model.onnx']);
    expect(statement(files.toReversed())).toEqual({ ...statement(files) });
    const both = Buffer.from(
      files
        .toReversed()
        .map((one) => one.sha256)
        .join(''),
      'hex',
    );
    expect(subject[0]).toEqual({ name: 'digits', digest: { sha256: createHash('sha256').update(both).digest('hex') } });
  });

  it.each([
    ['none', []],
    ['twice the same', [files[0]!, files[0]!]],
    ['a path out of the model', [{ ...files[0]!, name: '../x' }]],
    ['an absolute path', [{ ...files[0]!, name: '/x' }]],
  ])('takes no files: %s', (_, bad) => {
    expect(() => makeDocument('model-signature', { ...input, files: bad })).toThrow('REPORT_MODEL');
  });

  it('takes no other key', () => {
    const { key: _, ...without } = input;
    expect(() => makeDocument('model-signature', without)).toThrow('REPORT_KEY');
    for (const other of [
      generateKeyPairSync('ec', { namedCurve: 'P-384' }),
      generateKeyPairSync('ed25519'),
      generateKeyPairSync('rsa', { modulusLength: 1024 }),
    ]) {
      const der = (other.privateKey as typeof pair.privateKey).export({ type: 'pkcs8', format: 'der' });
      expect(() => readEcdsaKey(new Uint8Array(der))).toThrow('REPORT_KEY');
    }
    expect(() => readEcdsaKey(new Uint8Array())).toThrow('REPORT_KEY');
  });
});

describe('a page of the AI Act', () => {
  it('names the figures of the weights that are delivered, not of the last that were trained', async () => {
    const stop = { metric: 'accuracy', patience: 1, minimum: 10 } as const;
    const made = await evaluatedBundle({ every: 4, stop, accuracies: [700, 950, 400, 999, 999] });
    const encoded = encodeBundle(made.bundle);
    const stopped = await verifyBundle({ bundle: encoded, policy: made.job.policy });
    const text = textOf('annex-iv', { bundle: encoded, verdict: stopped });
    expect(stopped.evaluations).toMatchObject({ deliveredStep: 8, reason: 'stopped' });
    expect(text).toMatch(/^\| accuracy of the delivered weights, those after step 8 \| accuracy 95 %/m);
    expect(text).toMatch(/^\| 2\(g\) metrics after step 8, delivered \| accuracy 95 %/m);
    expect(text).toMatch(/^\| 2\(g\) metrics after step 12 \| accuracy 40 %/m);
  });

  it.each(['annex-iv', 'training-data'] as const)('%s marks every row and leaves gaps open', (format) => {
    const rows = textOf(format)
      .split('\n')
      .filter((line) => line.startsWith('| ') && !line.startsWith('| asked') && !line.startsWith('| ---'));
    expect(rows.length).toBeGreaterThan(8);
    for (const row of rows) expect(row).toMatch(/\| (proved|attested|declared|not in the evidence) \|$/);
    expect(textOf(format)).toContain('To be filled in by the provider');
  });

  it('takes nothing of a text for markup, a cell or a line', () => {
    const datasetName = 'a | b\n# c <script> [x](y) \u202e';
    const text = textOf('training-data', { declared: { datasetName } });
    const row = text.split('\n').find((line) => line.startsWith('| name | a'))!;
    expect(row).toBe('| name | a \\| b # c \\<script\\> \\[x\\](y)   | declared |');
  });
});

it.each([
  ['no JSON', 'x'],
  ['a list', '[]'],
  ['an unknown member', '{"name":"x"}'],
  ['a number', '{"modelName":1}'],
  ['an empty text', '{"modelName":""}'],
  ['too long', JSON.stringify({ modelName: 'x'.repeat(4001) })],
])('refuses what a provider declares as %s', (_, text) => {
  expect(() => readDeclared(Buffer.from(text))).toThrow('REPORT_DECLARED');
});
