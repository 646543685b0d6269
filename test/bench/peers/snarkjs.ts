/** snarkjs Groth16 on the circom step: key made once and kept in the cache, then proofs, timed in their process. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { keccak, toHex, utf8 } from '#attestation/base';
import { runTool } from '../../../libs/zk/src/groth16/toolchain/process.js';
import { domainPower, readR1csHeader } from '../../../libs/zk/src/groth16/toolchain/r1cs.js';
import { makeWhole } from '../../../libs/zk/src/groth16/toolchain/whole.js';
import { peerCache } from './cache.js';
import { circomStep } from './circom-step.js';
import { peerInputs, type PeerShape } from './shape.js';

const cache = peerCache('snarkjs');

interface SnarkjsPeer {
  readonly constraints: number;
  /** Proves once. @returns CPU seconds of witness and proof */
  prove(): Promise<number>;
}

/** @throws ConfigurationError BACKEND_UNAVAILABLE */
export async function openSnarkjs(shape: PeerShape): Promise<SnarkjsPeer> {
  const text = circomStep(shape);
  const folder = join(cache, `peer-${toHex(keccak(utf8(text))).slice(0, 32)}`);
  if (!existsSync(folder)) await makeWhole(folder, (work) => runTool({ op: 'compile', folder: work, text }));
  const [r1cs, wasm, zkey] = ['circuit.r1cs', 'circuit.wasm', 'zkey'].map((name) => join(folder, name));
  const header = readR1csHeader(await readFile(r1cs!));
  if (!existsSync(zkey!)) {
    const power = domainPower(header);
    const ptau = join(cache, `UNSAFE-development-${power}.ptau`);
    if (!existsSync(ptau)) await makeWhole(ptau, (path) => runTool({ op: 'development-ptau', path, power }));
    await makeWhole(zkey!, (path) => runTool({ op: 'key', r1cs: r1cs!, ptau, zkey: path, name: 'UNSAFE bench' }));
  }
  const inputs = Object.fromEntries(
    Object.entries(peerInputs(shape)).map(([name, values]) => [name, values.map(String)]),
  );
  return {
    constraints: header.constraints,
    prove: async () => (await runTool({ op: 'prove', wasm: wasm!, zkey: zkey!, inputs })).cpuSeconds,
  };
}
