/**
 * One job proved in full and settled on a local chain: `--steps N` of 784-64-10, batch 64. Every figure is measured: each
 * segment is proved, verified here, and discharged by transactions within Osaka's limits.
 */
import { Transaction, type TransactionLike } from 'ethers';
import { verifyStepProof } from '#libs/zk/verifier';
import { engage, openMarket, runOf, window, type Market } from '#test/escrow-market';
import { orderJob, proveJob, type BenchJob, type ProvedJob } from './whole-job/prove.js';
import type { BenchOptions, BenchOutcome, BenchResult } from './result.js';

const stepsDefault = 64;
/** Limits of a transaction: EIP-7825, and what the usual mempools carry. */
const transactionGasMax = 16_777_216;
const transactionBytesMax = 131_072;
/** Verified untimed, until the code is compiled for good. */
const warmProofs = 60;

/** The contract of `npm run bench -- whole-job --steps N --json`. */
interface WholeJob {
  readonly steps: number;
  readonly proofs: number;
  /** Of all proofs together. */
  readonly proofBytes: number;
  readonly transactions: number;
  /** Of all transactions that carry proofs. */
  readonly gas: number;
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  readonly peakBytes: number;
  readonly diskBytes: number;
  /** CPU time to verify all proofs, warm. */
  readonly verifyMs: number;
  /** Of the weakest round, and of the union over all rounds of all proofs. */
  readonly bitsWeakest: number;
  readonly bitsSum: number;
}

/** One segment. */
export const short = (options: BenchOptions): Promise<BenchOutcome> => run({ ...options, steps: 4 });

export async function run({ steps = stepsDefault }: BenchOptions): Promise<BenchOutcome> {
  const market = await openMarket();
  try {
    const job = orderJob(steps, market.deployment);
    const proved = await proveJob(job, market.as('provider').domain);
    const verifyMs = verifyAll(proved);
    const paid = await settle(market, job, proved);
    const { minBits, sumBits } = job.plan.soundness;
    const proofs = proved.segments.length;
    const wholeJob: WholeJob = {
      ...{ steps, proofs },
      proofBytes: proved.segments.reduce((sum, { proof }) => sum + proof.length, 0),
      ...paid,
      ...{ cpuSeconds: proved.cpuSeconds, wallSeconds: proved.wallSeconds, peakBytes: proved.peakBytes },
      ...{ diskBytes: 0, verifyMs, bitsWeakest: minBits, bitsSum: sumBits - Math.log2(proofs) },
    };
    return { results: Object.entries(wholeJob).map(([name, value]) => figure(name, value)), members: { wholeJob } };
  } finally {
    await market.stop();
  }
}

function figure(name: string, value: number): BenchResult {
  const unit = units[name] ?? name;
  return { name: `${name} of a job of 784-64-10`, unit, n: 1, min: value, median: value, max: value };
}

const units: Readonly<Record<string, string>> = {
  ...{ proofBytes: 'bytes', peakBytes: 'bytes', diskBytes: 'bytes', cpuSeconds: 's', wallSeconds: 's' },
  ...{ verifyMs: 'ms', bitsWeakest: 'bits', bitsSum: 'bits' },
};

function verifyAll({ segments }: ProvedJob): number {
  const all = (): void => segments.forEach(({ proof, statement }) => void verifyStepProof(proof, statement));
  for (let warm = 0; warm < warmProofs; warm += segments.length) all();
  const began = process.cpuUsage();
  all();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}

/** From the client's money to a provider who is paid for a run whose every segment the contract saw proved. */
async function settle(
  market: Market,
  { terms }: BenchJob,
  { borders, seals }: ProvedJob,
): Promise<Pick<WholeJob, 'transactions' | 'gas'>> {
  await engage(market, terms);
  const provider = market.as('provider');
  await provider.commit(terms, runOf(borders));
  for (const [segment, seal] of seals.entries()) await provider.duties.discharge(terms, segment, borders, seal);
  const sent = await provider.duties.transactionsOfProofs(terms);
  let gas = 0;
  for (const hash of sent) gas += await gasWithinLimits(market, hash);
  await market.pass(window + 1);
  await provider.finalize(terms);
  const { state } = await provider.job(terms);
  if (state !== 'Settled') throw new Error(`the job ended as ${state}`);
  return { transactions: sent.length, gas };
}

async function gasWithinLimits({ chain }: Market, txHash: string): Promise<number> {
  const receipt = (await chain.getTransactionReceipt(txHash))!;
  const sent = Transaction.from((await chain.getTransaction(txHash))! as TransactionLike);
  const [gas, bytes] = [Number(receipt.gasUsed), sent.serialized.length / 2 - 1];
  if (gas > transactionGasMax || bytes > transactionBytesMax) {
    throw new Error(`a transaction of ${bytes} bytes and ${gas} gas is above the limits`);
  }
  return gas;
}
