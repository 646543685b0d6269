/** Keys: where they come from, what is refused, and what snarkjs's own verifier says of a proof. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it as itAlways } from 'vitest';
import { CodedError, keccak, word } from '#attestation/base';
import { hasGroth16Tools } from '#test/groth16-tools';
import { groth16Shape, groth16Witness, testCache } from '../../testing/groth16-segments.js';
import { proveGroth16Segment, type Groth16Proof } from '../prover/prove.js';
import { circuitInputs } from '../prover/witness.js';
import { statementLimbs } from '../relation/signals.js';
import { parseKey } from '../verifier/key.js';
import { verifyGroth16 } from '../verifier/verify.js';
import { loadSnarkjs } from './packages.js';
import { runTool } from './process.js';
import { openCircuit, openKey, type Circuit, type KeySource, type PinnedFile, type ProvingKey } from './store.js';

const it = itAlways.skipIf(!hasGroth16Tools);
const folder = mkdtempSync(join(tmpdir(), 'veritrain-keys-'));
let circuit: Circuit;
let key: ProvingKey;
let made: Groth16Proof;

beforeAll(async () => {
  if (!hasGroth16Tools) return;
  circuit = await openCircuit(testCache, groth16Shape());
  key = await openKey(testCache, circuit);
  made = await proveGroth16Segment(circuit, key, groth16Witness(circuit.shape));
}, 240_000);
afterAll(async () => {
  if (!hasGroth16Tools) return;
  const { curves } = await loadSnarkjs();
  await (await curves.getCurveFromName('bn128')).terminate();
});

function pinned(path: string): PinnedFile {
  return { path, sha256: createHash('sha256').update(readFileSync(path)).digest('hex') };
}

const signals = (): bigint[] => {
  const number = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  return [...[made.before, made.after, made.data].map(number), ...statementLimbs(keccak(made.after)), 1n];
};

async function codeOf(source: KeySource): Promise<string> {
  try {
    await openKey(testCache, circuit, source);
  } catch (error) {
    if (error instanceof CodedError) return error.code;
    throw error;
  }
  return 'taken';
}

it('a proof is accepted by the project’s verifier and by snarkjs’s, and by neither for another signal', async () => {
  const { groth16, zKey } = await loadSnarkjs();
  const theirs = await zKey.exportVerificationKey(key.zkey);
  const at = (i: number): string =>
    BigInt(`0x${Buffer.from(made.proof.subarray(32 * i, 32 * i + 32)).toString('hex')}`).toString();
  const proof = {
    ...{ protocol: 'groth16', curve: 'bn128', pi_a: [at(0), at(1), '1'], pi_c: [at(6), at(7), '1'] },
    pi_b: [[at(3), at(2)], [at(5), at(4)], ['1', '0']], // prettier-ignore
  };
  const ours = parseKey(key.bytes);
  expect(await groth16.verify(theirs as never, signals().map(String), proof as never)).toBe(true);
  expect(() => verifyGroth16(ours, signals(), made.proof)).not.toThrow();
  for (let i = 0; i < signals().length; i++) {
    const other = signals().with(i, signals()[i]! + 1n);
    expect(await groth16.verify(theirs as never, other.map(String), proof as never)).toBe(false);
    expect(() => verifyGroth16(ours, other, made.proof)).toThrow('STEP_FINAL_CHECK');
  }
});

describe('a key of a ceremony', () => {
  const ptau = (): PinnedFile => pinned(join(testCache, 'UNSAFE-development-11.ptau'));

  it('is taken after it was checked against circuit and powers of tau', async () => {
    const taken = await openKey(testCache, circuit, { zkey: pinned(key.zkey), ptau: ptau() });
    expect(taken.ceremony).toBe('external');
    expect(Buffer.from(taken.bytes).equals(key.bytes)).toBe(true);
  }, 120_000);

  it('is refused with another hash, without its powers, or damaged', async () => {
    const damaged = join(folder, 'damaged.zkey');
    const bytes = readFileSync(key.zkey);
    bytes[bytes.length - 300]! ^= 1;
    writeFileSync(damaged, bytes);
    const other = { ...ptau(), sha256: '0'.repeat(64) };
    expect(await codeOf({ ptau: other })).toBe('GROTH16_FILE_HASH');
    expect(await codeOf({ ptau: { path: join(folder, 'none'), sha256: '0'.repeat(64) } })).toBe('GROTH16_FILE_HASH');
    expect(await codeOf({ zkey: pinned(key.zkey) })).toBe('GROTH16_ZKEY');
    expect(await codeOf({ zkey: pinned(damaged), ptau: ptau() })).toBe('GROTH16_ZKEY');
  }, 120_000);

  it('powers that are none are refused, and leave nothing behind', async () => {
    const path = join(folder, 'none.ptau');
    writeFileSync(path, word(1));
    expect(await codeOf({ ptau: pinned(path) })).toBe('GROTH16_PTAU');
  }, 120_000);
});

describe('the toolchain', () => {
  it('refuses inputs that do not satisfy the circuit', async () => {
    const { before, examples } = groth16Witness(circuit.shape);
    const honest = circuitInputs(circuit.shape, {
      ...{ statement: keccak(made.after), stepSizes: [1], weights: before.weights, examples },
      blinds: { before: 1n, after: 2n, data: 3n },
    });
    const inputs = { ...honest, x: Array<string>(4).fill('256') };
    const attempt = runTool({ op: 'prove', wasm: circuit.wasm, zkey: key.zkey, inputs });
    await expect(attempt).rejects.toThrow('GROTH16_WITNESS');
  });

  it('says what does not compile', async () => {
    const text = 'pragma circom 2.1.6; template T() { signal input a; b <== a; } component main = T();';
    await expect(runTool({ op: 'compile', folder: join(folder, 'broken'), text })).rejects.toThrow('GROTH16_COMPILE');
  });
});
