/** The Groth16 verifier on chain against the one in TypeScript: registry, verdicts, codes, gas. */
import { readFileSync, writeFileSync } from 'node:fs';
import { Contract, ContractFactory, getBytes, HDNodeWallet, id, type JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, describe as describeAlways, expect, it as itAlways } from 'vitest';
import { concatBytes, equalBytes, keccak, Rejection, to0x, toHex, word } from '#attestation/base';
import {
  connect,
  encodeGroth16Seal,
  startAnvil,
  testMnemonic,
  type Anvil,
  type Groth16SealFields,
} from '#libs/settlement';
import {
  circuitDigest,
  groth16PlanDigest,
  groth16Selector,
  parseKey,
  signalsOf,
  verifyGroth16,
  weightLayoutDigest,
} from '#libs/zk/verifier';
import { hasGroth16Tools } from '#test/groth16-tools';
import { groth16Shape } from '../../libs/zk/src/testing/groth16-segments.js';
import { ethCall } from './eth-call.js';
import { sealGroth16, type SealedGroth16 } from './groth16-seal.js';

const describe = describeAlways.skipIf(!hasGroth16Tools);
const it = itAlways.skipIf(!hasGroth16Tools);

const codes = [
  ...['STEP_PLAN', 'STEP_STATEMENT', 'MERKLE_PATH', 'MERKLE_INDEX', 'STEP_NONCANONICAL', 'STEP_FINAL_CHECK'],
  ...['GROTH16_KEY', 'GROTH16_DEVELOPMENT'],
];
const codeOf = new Map([
  ...codes.map((name) => [id(`${name}()`).slice(0, 10), name] as const),
  [id('SEAL_SELECTOR(bytes4)').slice(0, 10), 'SEAL_SELECTOR'],
  [id('GROTH16_REGISTERED(bytes32)').slice(0, 10), 'GROTH16_REGISTERED'],
]);
const fieldPrime = 21888242871839275222246405745257275088696311157297823662689037894645226208583n;
const groupOrder = 21888242871839275222246405745257275088548364400416034343698204186575808495617n;
const hardfork = 'osaka';
const snapshotFile = new URL('../snapshots/groth16-gas.json', import.meta.url);
const artefact = JSON.parse(readFileSync(new URL('../abi/Groth16StepVerifier.json', import.meta.url), 'utf8')) as {
  abi: never[];
  bytecode: string;
};
/** A schedule whose second entry begins within the proved segment. */
const shape = groth16Shape({ superblock: 2, m: [[0, 1], [3, 5]], steps: 64 }); // prettier-ignore
const segment = 1;

let anvil: Anvil;
let chain: JsonRpcProvider;
let verifier: Contract;
let sealed: SealedGroth16;
let refusing: Contract;

async function deploy(takesDevelopmentKeys: boolean): Promise<Contract> {
  const signer = HDNodeWallet.fromPhrase(testMnemonic).connect(chain);
  const contract = await new ContractFactory(artefact.abi, artefact.bytecode, signer).deploy(takesDevelopmentKeys);
  await contract.waitForDeployment();
  return contract as Contract;
}

const circuitOf = (): unknown[] => {
  const { dims, batch, superblock } = shape.manifest;
  return [circuitDigest(shape), weightLayoutDigest(shape), dims[0], dims.at(-1), batch, superblock];
};

beforeAll(async () => {
  anvil = await startAnvil({ hardfork });
  chain = connect(anvil.url, anvil.chainId, 25);
  sealed = await sealGroth16(shape, segment);
  [verifier, refusing] = [await deploy(true), await deploy(false)];
  await (await verifier.getFunction('register')(circuitOf(), true, sealed.key.bytes)).wait();
}, 600_000);
afterAll(async () => {
  chain?.destroy();
  await anvil?.stop();
});

const call = (contract: Contract, name: string, args: readonly unknown[]): Promise<string> =>
  ethCall({ url: anvil.url, codeOf }, contract, name, args);

const onChain = (fields: Groth16SealFields, digest = sealed.digest): Promise<string> =>
  call(verifier, 'verify', [encodeGroth16Seal(fields), digest]);

/** The TypeScript verifier's code, or 'accepted', for a seal whose statement and job are right. */
function inTypeScript({ index, before, afterwards, data, dataPath, spec, proof }: Groth16SealFields): string {
  const { recordCount, datasetRoot } = spec;
  const { digest: outerDigest } = sealed;
  try {
    const claim = { outerDigest, index, recordCount, datasetRoot, data, before, after: afterwards, dataPath };
    verifyGroth16(parseKey(sealed.key.bytes), signalsOf(shape, claim), concatBytes(...proof));
    return 'accepted';
  } catch (error) {
    if (error instanceof Rejection) return error.code;
    throw error;
  }
}

describe('a seal', () => {
  it('is accepted', async () => {
    expect(inTypeScript(sealed.fields)).toBe('accepted');
    expect(await onChain(sealed.fields)).toBe('accepted');
  });

  it('is for one statement', async () => {
    expect(await onChain(sealed.fields, keccak(sealed.digest))).toBe('STEP_STATEMENT');
  });

  it.each<[string, (fields: Groth16SealFields) => Partial<Groth16SealFields>, string]>([
    ['another domain', ({ domain }) => ({ domain: keccak(domain) }), 'STEP_STATEMENT'],
    ['another segment', () => ({ index: 2 }), 'STEP_STATEMENT'],
    ['a segment beyond the job', () => ({ index: 32 }), 'STEP_STATEMENT'],
    ['other weights before', ({ before }) => ({ before: other(before) }), 'STEP_STATEMENT'],
    ['other weights after', ({ afterwards }) => ({ afterwards: other(afterwards) }), 'STEP_STATEMENT'],
    ['weights beyond the field', () => ({ before: word(groupOrder) }), 'STEP_STATEMENT'],
    ['other data', ({ data }) => ({ data: other(data) }), 'MERKLE_PATH'],
    ['data beyond the field', ({ data }) => ({ data: word(groupOrder + numberOf(data)) }), 'STEP_STATEMENT'],
    ['another path', ({ dataPath }) => ({ dataPath: dataPath.map(keccak) }), 'MERKLE_PATH'],
    ['a long path', ({ data }) => ({ dataPath: new Array<Uint8Array>(32).fill(data) }), 'MERKLE_INDEX'],
    ['no path', () => ({ dataPath: [] }), 'MERKLE_PATH'],
    ['a plan that nobody registered', ({ plan }) => ({ plan: keccak(plan) }), 'STEP_PLAN'],
    ['another job’s spec', ({ spec }) => ({ spec: { ...spec, jobSpec: keccak(spec.jobSpec) } }), 'STEP_STATEMENT'],
    ['another schedule', ({ spec }) => ({ spec: { ...spec, schedule: [1] } }), 'STEP_STATEMENT'],
    ['other terms', ({ terms }) => ({ terms: Uint8Array.from(terms, (b, i) => (i === 31 ? 1 : b)) }), 'STEP_STATEMENT'],
    ['no terms', () => ({ terms: new Uint8Array() }), 'STEP_STATEMENT'],
  ])('with %s is refused', async (_name, change, code) => {
    expect(await onChain({ ...sealed.fields, ...change(sealed.fields) })).toBe(code);
  });

  it('of another verifier is refused', async () => {
    const seal = encodeGroth16Seal(sealed.fields).fill(0, 0, 4);
    expect(await call(verifier, 'verify', [seal, sealed.digest])).toBe('SEAL_SELECTOR');
    expect(toHex(groth16Selector)).toBe(id('veritrain/zk/fxt-groth16/1').slice(2, 10));
  });
});

function numberOf(bytes: Uint8Array): bigint {
  return BigInt(to0x(bytes));
}

/** Another canonical field element. */
function other(root: Uint8Array): Uint8Array {
  return word(numberOf(root) ^ 1n);
}

function withWord(index: number, change: (value: bigint) => bigint): Groth16SealFields {
  const proof = sealed.fields.proof.map((bytes, i) => (i === index ? word(change(numberOf(bytes))) : bytes));
  return { ...sealed.fields, proof };
}

describe('a changed proof gets the code that TypeScript gives', () => {
  it.each(Array.from({ length: 8 }, (_, i) => i))('word %i', async (i) => {
    const changes: ((value: bigint) => bigint)[] = [
      (value) => value ^ 1n,
      (value) => (value + 1n) % fieldPrime,
      (value) => (value === 0n ? 0n : fieldPrime - value),
      (value) => value + fieldPrime,
      () => 0n,
      () => fieldPrime,
      () => (1n << 256n) - 1n,
    ];
    for (const change of changes) {
      const fields = withWord(i, change);
      const verdict = await onChain(fields);
      expect(verdict).not.toBe('accepted');
      expect(verdict).toBe(inTypeScript(fields));
    }
  });

  it('points swapped, negated or zero', async () => {
    const { proof } = sealed.fields;
    const [a, b, c] = [proof.slice(0, 2), proof.slice(2, 6), proof.slice(6)];
    const zero = [word(0), word(0)];
    const negated = ([x, y]: Uint8Array[]): Uint8Array[] => [x!, word(fieldPrime - numberOf(y!))];
    const variants = [
      [c, b, a],
      [negated(a), b, c],
      [a, b, negated(c)],
      [a, b, zero],
      [zero, b, c],
      [a, [...zero, ...zero], c],
      [a, [b[1]!, b[0]!, b[3]!, b[2]!], c],
    ];
    for (const words of variants) {
      const fields = { ...sealed.fields, proof: words.flat() };
      expect(await onChain(fields)).not.toBe('accepted');
      expect(await onChain(fields)).toBe(inTypeScript(fields));
    }
  });
});

describe('the registry', () => {
  it('names a plan as TypeScript does', async () => {
    const plan = await verifier.getFunction('planDigest')(circuitOf(), true, sealed.key.bytes);
    expect(plan).toBe(to0x(groth16PlanDigest(shape, 'development', sealed.key.bytes)));
    expect(await verifier.getFunction('isRegistered')(plan)).toBe(true);
  });

  it('takes a plan once', async () => {
    expect(await call(verifier, 'register', [circuitOf(), true, sealed.key.bytes])).toBe('GROTH16_REGISTERED');
  });

  it('refuses development keys where it was told to', async () => {
    expect(await call(refusing, 'register', [circuitOf(), true, sealed.key.bytes])).toBe('GROTH16_DEVELOPMENT');
  });

  it('another label is another plan, which no terms name', async () => {
    const { key, fields } = sealed;
    const plan = groth16PlanDigest(shape, 'external', key.bytes);
    expect(equalBytes(plan, fields.plan)).toBe(false);
    await (await refusing.getFunction('register')(circuitOf(), false, key.bytes)).wait();
    expect(await call(refusing, 'verify', [encodeGroth16Seal(fields), sealed.digest])).toBe('STEP_PLAN');
    expect(await call(refusing, 'verify', [encodeGroth16Seal({ ...fields, plan }), sealed.digest])).toBe(
      'STEP_STATEMENT',
    );
  });

  it('refuses keys that are not keys', async () => {
    const { bytes } = sealed.key;
    const at = (offset: number, part: Uint8Array): Uint8Array => {
      const copy = Uint8Array.from(bytes);
      copy.set(part, offset);
      return copy;
    };
    const changedKeys = [
      bytes.subarray(1),
      concatBytes(bytes, word(0)),
      at(320, bytes.subarray(192, 320)), // γ = δ
      at(0, new Uint8Array(64)),
      at(64, new Uint8Array(128)),
      at(448, new Uint8Array(64)),
      ...[0, 64, 192, 320, 448, 832].map((offset) => at(offset + 31, Uint8Array.of(bytes[offset + 31]! ^ 1))),
    ];
    for (const key of changedKeys) {
      expect(await call(verifier, 'register', [circuitOf(), true, key])).toBe('GROTH16_KEY');
      expect(() => parseKey(key)).toThrow('GROTH16_KEY');
    }
  });
});

/**
 * Gas beside calldata is exact; calldata costs most where no byte is zero, and how many are zero changes with the key.
 */
it('takes the gas of the snapshot', async () => {
  const data = verifier.interface.encodeFunctionData('verify', [encodeGroth16Seal(sealed.fields), sealed.digest]);
  const signer = HDNodeWallet.fromPhrase(testMnemonic).connect(chain);
  const receipt = await (await signer.sendTransaction({ to: verifier.target, data, gasLimit: 1_000_000 })).wait();
  const bytes = getBytes(data);
  const calldataGas = bytes.reduce((sum, byte) => sum + (byte === 0 ? 4 : 16), 0);
  const found = {
    hardfork,
    gasBesideCalldata: Number(receipt!.gasUsed) - calldataGas,
    calldataBytes: bytes.length,
  };
  if (process.env['VERITRAIN_BLESS'] === '1') writeFileSync(snapshotFile, `${JSON.stringify(found, null, 2)}\n`);
  expect(found).toEqual(JSON.parse(readFileSync(snapshotFile, 'utf8')));
  expect(Number(receipt!.gasUsed)).toBeLessThan(300_000);
});
