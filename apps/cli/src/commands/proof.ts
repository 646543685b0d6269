/** `veritrain prove` and `veritrain proof verify`: step proofs as files. */
import { InvalidArgumentError, type Command } from 'commander';
import { later } from '../later.js';
import { digest } from '../output.js';

export function addProveCommand(command: Command): void {
  command
    .requiredOption('--manifest <file>', 'fxt/1 manifest')
    .requiredOption('--images <file>', 'IDX file of unsigned bytes')
    .requiredOption('--labels <file>', 'IDX file of labels')
    .option('--from <step>', 'first step of the segment (required without --accuracy)', whole(0))
    .option('--steps <n>', "steps of the segment: whole superblocks of the manifest's (required likewise)", whole(1))
    .requiredOption('--out <file>', 'where the proof goes')
    .requiredOption('--statement <file>', 'where the statement goes that the proof is checked against')
    .option('--threads <n>', 'threads, 1 to 16', whole(1), 2)
    .option('--backend <name>', 'auto, sumcheck or groth16', 'auto')
    .option('--on-chain', 'a contract is to check the proofs: let auto weigh gas')
    .option('--ptau <file>', 'powers of tau for a Groth16 key, prepared for phase 2; with --ptau-sha256')
    .option('--ptau-sha256 <to0x>', 'what that file must hash to', sha256)
    .option('--zkey <file>', 'Groth16 key of a ceremony, checked against circuit and --ptau; with --zkey-sha256')
    .option('--zkey-sha256 <to0x>', 'what that file must hash to', sha256)
    .option('--profile <name>', 'parameters by name; auto: the first that reaches 100 bits', 'auto')
    .option('--memory <MiB>', 'most linear memory of the prover', whole(1), 2048)
    .option('--weights <file>', 'weights at the first step; else computed from the seed')
    .option('--state-digest <to0x>', 'state digest that the weights at the first step are claimed to have')
    .option('--accuracy', 'prove of --weights how many records of the files they class right, and nothing of training')
    .option('--correct <k>', 'with --accuracy: how many to prove; else all that are classed right', whole(0))
    .option(
      '--weights-seed <file>',
      'with --accuracy and --profile: 64 hexadecimal digits, of one commitment to weights',
    )
    .option('--data-seed <file>', 'with --accuracy: those of commitments to records; else both are drawn')
    .option('--json', 'print one JSON document')
    .action(later(async () => (await import('../proof/prove.js')).prove));
}

export function addProofCommands(proof: Command): void {
  proof
    .command('key')
    .description('make or import the Groth16 key of a manifest’s circuit, for nodes and for the clients of their jobs')
    .requiredOption('--manifest <file>', 'fxt/1 manifest; a key serves every seed and number of steps')
    .requiredOption('--out <folder>', 'folder of keys, as in a node’s groth16Keys')
    .option('--ptau <file>', 'powers of tau, prepared for phase 2; with --ptau-sha256')
    .option('--ptau-sha256 <to0x>', 'what that file must hash to', sha256)
    .option('--zkey <file>', 'key of a ceremony, checked against circuit and --ptau; with --zkey-sha256')
    .option('--zkey-sha256 <to0x>', 'what that file must hash to', sha256)
    .option('--memory <MiB>', 'most memory of circom and snarkjs', whole(1), 4096)
    .option('--json', 'print one JSON document')
    .action(later(async () => (await import('../proof/prove.js')).key));
  proof
    .command('verify')
    .argument('<file>', 'proof')
    .requiredOption('--statement <file>', 'its statement')
    .option('--verification-key <to0x>', 'digest of the only Groth16 key that is taken', digest)
    .option('--no-development-keys', 'refuse Groth16 keys that one machine made')
    .option('--manifest <file>', 'refuse an accuracy statement under another manifest, which reads weights otherwise')
    .option('--images <file>', 'refuse an accuracy statement about other records than those of this IDX file')
    .option('--labels <file>', 'their labels; with --images')
    .option('--data-seed <file>', 'what opens the commitment to them; with --images')
    .option('--weights <file>', 'refuse an accuracy statement about other weights')
    .option('--weights-seed <file>', 'what opens the commitment to them; with --weights')
    .option('--json', 'print one JSON document')
    .action(later(async () => (await import('../proof/prove.js')).verify));
}

function sha256(text: string): string {
  if (/^[0-9a-f]{64}$/.test(text)) return text;
  throw new InvalidArgumentError('64 lower-case hexadecimal digits');
}

function whole(least: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : -1;
    if (value < least) throw new InvalidArgumentError(`a whole number of at least ${least}`);
    return value;
  };
}
