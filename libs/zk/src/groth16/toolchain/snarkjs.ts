/** snarkjs's steps: key of a circuit, witness, proof. */
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { ConfigurationError, Rejection } from '#attestation/base';
import type { CircuitInputs } from '../prover/witness.js';
import { loadSnarkjs } from './packages.js';
import type { KeyJson, ProofJson, ToolRequest } from './protocol.js';

type Of<Op extends ToolRequest['op']> = Extract<ToolRequest, { op: Op }>;
const rule = 'libs/zk/src/groth16/SPEC.md §6';

/**
 * Phase 2 with one contribution, by this machine. A key without a contribution has δ = γ and lets anyone forge.
 *
 * @throws ConfigurationError GROTH16_PTAU when the powers of tau are too few or not prepared for phase 2
 */
export async function makeKey({ r1cs, ptau, zkey, name }: Of<'key'>): Promise<{ key: KeyJson }> {
  const { zKey } = await loadSnarkjs();
  const blank = `${zkey}.blank`;
  try {
    const made: unknown = await zKey.newZKey(r1cs, ptau, blank).catch((error: Error) => error);
    if (!(made instanceof Uint8Array)) {
      throw new ConfigurationError('GROTH16_PTAU', {
        expected: 'powers of tau over bn128 that are prepared for phase 2 and many enough for the circuit',
        got: made instanceof Error ? made.message : 'powers that snarkjs refuses',
        rule,
      });
    }
    await zKey.contribute(blank, zkey, name, randomBytes(64).toString('hex'));
    return await exportKey(zkey);
  } finally {
    await rm(blank, { force: true });
  }
}

/** Does the key belong to this circuit and these powers, with every contribution well formed? */
export async function checkKey({ r1cs, ptau, zkey }: Of<'check-key'>): Promise<{ isValid: boolean }> {
  const { zKey } = await loadSnarkjs();
  return { isValid: await zKey.verifyFromR1cs(r1cs, ptau, zkey).catch(() => false) };
}

export async function exportKey(zkey: string): Promise<{ key: KeyJson }> {
  const { zKey } = await loadSnarkjs();
  return { key: (await zKey.exportVerificationKey(zkey)) as unknown as KeyJson };
}

export async function witnessesOf({ wasm, inputs }: Of<'witness'>): Promise<{ witnesses: (string[] | null)[] }> {
  const { wtns } = await loadSnarkjs();
  const witnesses: (string[] | null)[] = [];
  for (const one of inputs) {
    const memory = await calculate(wasm, one).catch((error: unknown) => {
      if (error instanceof Rejection) return null;
      throw error;
    });
    const values = memory && ((await wtns.exportJson(memory as never)) as unknown as bigint[]);
    witnesses.push(values && values.map(String));
  }
  return { witnesses };
}

/** @throws Rejection GROTH16_WITNESS when the inputs do not satisfy the circuit */
export async function proveWitness({ wasm, zkey, inputs }: Of<'prove'>): Promise<{
  proof: ProofJson;
  signals: readonly string[];
  phases: Record<string, number>;
}> {
  const { groth16 } = await loadSnarkjs();
  const began = performance.now();
  const memory = await calculate(wasm, inputs);
  const between = performance.now();
  const { proof, publicSignals } = await groth16.prove(zkey, memory as never);
  const phases = { witness: (between - began) / 1000, prove: (performance.now() - between) / 1000 };
  return { proof: proof as unknown as ProofJson, signals: publicSignals, phases };
}

async function calculate(wasm: string, inputs: CircuitInputs): Promise<object> {
  const { wtns } = await loadSnarkjs();
  const memory = { type: 'mem' };
  await wtns.calculate(inputs as never, wasm, memory as never).catch((error: Error) => {
    throw new Rejection('GROTH16_WITNESS', {
      expected: 'values that satisfy the circuit',
      got: error.message.replaceAll('\n', ' ').slice(0, 200),
      rule,
    });
  });
  return memory;
}
