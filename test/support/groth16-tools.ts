/** Whether the optional packages that compile and prove circuits are installed; where not, tests skip and say so. */
import { CodedError } from '#attestation/base';
import { optionalFile } from '../../libs/zk/src/groth16/toolchain/packages.js';

function missing(): string | undefined {
  try {
    for (const file of ['snarkjs', 'circom2/cli.js', 'circomlib/circuits/poseidon.circom']) optionalFile(file);
    return undefined;
  } catch (error) {
    if (error instanceof CodedError) return error.message;
    throw error;
  }
}

const reason = missing();
if (reason !== undefined) process.stderr.write(`tests of Groth16 proofs SKIPPED: ${reason}\n`);

export const hasGroth16Tools = reason === undefined;
