/**
 * Groth16 keys that a node keeps: a folder with one for each plan, named by the plan's digest in hexadecimal. In it
 * `key.json`, the document of the verification key; `zkey`, the proving key; `circuit.wasm`, which computes witnesses.
 */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError, equalBytes, Rejection, toHex } from '#attestation/base';
import { groth16KeyText, parseGroth16Key, type Groth16Key } from '#libs/proof';
import type { Circuit, ProvingKey } from '#libs/zk/groth16';
import { groth16PlanDigest, type CircuitShape } from '#libs/zk/verifier';

interface KeptKey extends Groth16Key {
  readonly zkey: string;
  readonly circuit: Pick<Circuit, 'shape' | 'wasm'>;
}

const planName = /^[0-9a-f]{64}$/;
const rule = 'prover worker, keys';

/** @returns plan digests, 0x-hexadecimal, in order */
export function plansOf(folder: string | undefined): readonly string[] {
  if (folder === undefined || !existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => planName.test(name) && existsSync(join(folder, name, 'key.json')));
  return names.sort().map((name) => `0x${name}`);
}

/**
 * Whether the proving key is that of the verification key shows in the first proof, which is verified where it is made.
 *
 * @throws ConfigurationError GROTH16_KEY_MISSING; Rejection GROTH16_KEY
 */
export function openKeyFolder(folder: string | undefined, plan: Uint8Array, shape: CircuitShape): KeptKey {
  const name = toHex(plan);
  if (folder === undefined || !plansOf(folder).includes(`0x${name}`)) {
    throw new ConfigurationError('GROTH16_KEY_MISSING', {
      expected: `a Groth16 key of plan 0x${name} in groth16Keys`,
      got: folder === undefined ? 'no folder of keys' : 'none',
      rule,
      action: 'make or import it with `veritrain proof key`; or leave the job to a node that has it',
    });
  }
  const at = (file: string): string => join(folder, name, file);
  const key = parseGroth16Key(readDocument(at('key.json')));
  const found = groth16PlanDigest(shape, key.ceremony, key.bytes);
  if (!equalBytes(found, plan)) {
    throw new Rejection('GROTH16_KEY', {
      expected: `a key of plan 0x${name}`,
      got: `one of plan 0x${toHex(found)}`,
      rule,
      action: 'make the folder again with `veritrain proof key`',
    });
  }
  return { ...key, zkey: at('zkey'), circuit: { shape, wasm: at('circuit.wasm') } };
}

/** Copies circuit and key to where a node finds them; a key that is there stays. @returns the plan, 0x-hexadecimal */
export function keepKey(folder: string, { shape, wasm }: Pick<Circuit, 'shape' | 'wasm'>, key: ProvingKey): string {
  const plan = toHex(groth16PlanDigest(shape, key.ceremony, key.bytes));
  const [target, work] = [join(folder, plan), join(folder, `.${plan}-${process.pid}`)];
  if (existsSync(target)) return `0x${plan}`;
  mkdirSync(work, { recursive: true });
  copyFileSync(key.zkey, join(work, 'zkey'));
  copyFileSync(wasm, join(work, 'circuit.wasm'));
  writeFileSync(join(work, 'key.json'), `${groth16KeyText(key)}\n`);
  renameSync(work, target);
  return `0x${plan}`;
}

function readDocument(path: string): unknown {
  const text = readFileSync(path, 'utf8');
  try {
    return JSON.parse(text);
  } catch {
    throw new Rejection('GROTH16_KEY', { expected: `JSON in ${path}`, got: text.slice(0, 40), rule });
  }
}
