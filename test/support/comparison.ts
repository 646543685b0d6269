/** What stands in libs/zk/COMPARISON.md: figures measured here, and what others published. */
import { readFileSync } from 'node:fs';

interface WholeJob {
  readonly steps: number;
  readonly proofs: number;
  readonly proofBytes: number;
  readonly transactions: number;
  readonly gas: number;
  readonly cpuSeconds: number;
  readonly peakBytes: number;
  readonly verifyMs: number;
  readonly bitsWeakest: number;
  readonly bitsSum: number;
}

interface Published {
  readonly system: string;
  readonly proved: string;
  readonly prover: string;
  readonly proof: string;
  readonly verifier: string;
  readonly source: string;
}

interface Comparison {
  readonly date: string;
  readonly machine: string;
  /** `wholeJob` of `npm run bench -- whole-job --steps N --json`. */
  readonly wholeJobs: readonly WholeJob[];
  readonly published: readonly Published[];
}

const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

/** Ten epochs of MNIST in batches of 64. */
const mnistSteps = 9370;
const decimals = (value: number, digits: number): string =>
  value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
const ether = (gas: number, gwei: number): string => `${Number((gas * gwei * 1e-9).toPrecision(2))}`;

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, k) => Math.max(title.length, 3, ...rows.map((row) => row[k]!.length)));
  const line = (row: readonly string[]): string => `| ${row.map((cell, k) => cell.padEnd(widths[k]!)).join(' | ')} |`;
  return [line(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rows.map(line)].join('\n');
}

function jobRow(job: WholeJob): readonly string[] {
  return [
    decimals(job.steps, 0),
    decimals(job.proofs, 0),
    decimals(job.proofBytes / 1e6, 2),
    decimals(job.gas / 1e6, 1),
    ether(job.gas, 1),
    ether(job.gas, 0.1),
    decimals(job.cpuSeconds, 1),
    decimals(job.peakBytes / 2 ** 20, 0),
    decimals(job.verifyMs, 0),
    `${job.bitsWeakest.toFixed(1)} / ${job.bitsSum.toFixed(1)}`,
  ];
}

function offers(mnist: WholeJob): readonly (readonly string[])[] {
  const settlement = read('contracts/snapshots/settlement.json') as Record<string, string>;
  const { proofs } = read('contracts/snapshots/zk-gas.json') as { proofs: { superblock: number; gas: number }[] };
  const gasOf = (name: string): number => Number(settlement[name]);
  const attested = gasOf('commit, TEE seal, one segment') + gasOf('finalize, key revealed');
  const disputed = gasOf('challenge') + proofs.find(({ superblock }) => superblock === 1)!.gas;
  const row = (offer: string, gas: number, trust: string): readonly string[] => {
    const price = gas === 0 ? ['0', '0'] : [ether(gas, 1), ether(gas, 0.1)];
    return [offer, decimals(gas / 1e6, 2), ...price, trust];
  };
  return [
    row('attested by a TEE: commit and payment', attested, 'the vendor and the measured image'),
    row('proofs in the bundle, verified by the reader', 0, 'nobody'),
    row('optimistic, one segment disputed', disputed, 'one honest watcher'),
    row('every segment proved on chain', mnist.gas, 'nobody'),
  ];
}

export function renderComparison(): string {
  const { date, machine, wholeJobs, published } = read('libs/zk/comparison.json') as Comparison;
  const mnist = wholeJobs.find(({ steps }) => steps === mnistSteps)!;
  const peers = published.map(({ system, proved, prover, proof, verifier, source }) => [
    ...[system, proved, prover, proof, verifier, source],
  ]);
  return `# What proof of a whole job costs

Written by \`npm run bless\` from [comparison.json](comparison.json) and [contracts/snapshots](../../contracts/snapshots);
a test holds the two together. Measured on ${date}: ${machine}.

## Proved in full and settled on a local chain

784-64-10, batch 64, in the largest proofs that fit a transaction, or two from 256 steps on: \`npm run bench -- whole-job --steps N\`.
Prices in ETH at 1 and at 0.1 gwei. Bits are those of the weakest round and of all rounds of all proofs together.
The last two rows were proved while the machine did much other work, so their seconds are more than it takes; the last is ten epochs of MNIST (D343).

${table(['steps', 'proofs', 'MB', 'M gas', '1 gwei', '0.1 gwei', 'CPU s', 'MiB', 'verify, CPU ms', 'bits'], wholeJobs.map(jobRow))}

## What a job can be settled by

Ten epochs of MNIST; gas as the snapshots have it. What every escrow pays besides, from \`open\` to \`withdraw\`, is left out.

${table(['offer', 'M gas', '1 gwei', '0.1 gwei', 'whom one trusts'], offers(mnist))}

## What others published

Their machines, their models, their words; no figure of ours is on their terms.

${table(['system', 'what is proved', 'prover', 'proof', 'verifier', 'source'], peers)}
`;
}
