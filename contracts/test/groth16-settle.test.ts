/** Jobs whose duties are met by genuine Groth16 proofs, through router and escrow; gas of each transaction. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getBytes } from 'ethers';
import { afterAll, beforeAll, expect, it as itAlways } from 'vitest';
import { to0x } from '#attestation/base';
import { JobMode, specDigestOf, termsJson, type Terms } from '#attestation/records';
import { groth16Selector } from '#libs/zk/verifier';
import {
  duties,
  engage,
  marketTerms,
  openMarket,
  runOf,
  walletOf,
  window,
  type Market,
  type TermsChange,
} from '#test/escrow-market';
import { groth16Job, proveGroth16Run, type Groth16Job, type ProvedRun } from '#test/groth16-run';
import { hasGroth16Tools } from '#test/groth16-tools';
import { runCommand } from '#test/run-command';

const it = itAlways.skipIf(!hasGroth16Tools);

const snapshotFile = new URL('../snapshots/groth16-settle-gas.json', import.meta.url);
let folder: string;
const segments = 2;
const found: Record<string, { gasBesideCalldata: number; calldataBytes: number }> = {};

let market: Market;
let job: Groth16Job;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'veritrain-groth16-'));
  market = await openMarket({ developmentKeys: true });
  job = await groth16Job(market.deployment, segments);
}, 600_000);
afterAll(async () => {
  await market?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function committed(change: TermsChange): Promise<{ terms: Terms; run: ProvedRun }> {
  const { spec, start } = job;
  const terms = marketTerms({
    ...{ specDigest: specDigestOf(spec), initialWeights: start, segments, dutySelectors: [groth16Selector] },
    ...change,
  });
  await engage(market, terms);
  const run = await proveGroth16Run(job, market.as('provider'), terms);
  await market.as('provider').commit(terms, runOf(run.borders));
  return { terms, run };
}

/** `finalize` was seen to take 168 more or less from run to run; one more word written or read costs over two thousand. */
const gasOfChance = 400;

/** Gas beside calldata is what the snapshot keeps; how many bytes of calldata are zero changes with the key and the proof. */
async function measure(name: string, txHash: string, most: number): Promise<void> {
  const receipt = (await market.chain.getTransactionReceipt(txHash))!;
  const bytes = getBytes((await market.chain.getTransaction(txHash))!.data);
  const calldataGas = bytes.reduce((sum, byte) => sum + (byte === 0 ? 4 : 16), 0);
  const gas = Number(receipt.gasUsed);
  found[name] = { gasBesideCalldata: gas - calldataGas, calldataBytes: bytes.length };
  expect(gas).toBeLessThan(most);
}

function write(name: string, content: string | Uint8Array): string {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
}

/** What the provider says on the command line, the proofs in files. */
async function byProvider(run: ProvedRun, ...command: string[]) {
  const { anvil, deployment } = market;
  const accountKey = write('provider.test-key', walletOf('provider').privateKey);
  const profile = {
    controlPlane: { url: 'http://127.0.0.1:1', apiKey: 'vt_test_test' },
    broker: { url: 'http://127.0.0.1:1', account: `0x${'22'.repeat(20)}`, keysFolder: '.' },
    ...{ policy: 'policy.json', recipientKey: 'recipient.test-key' },
    chain: { rpcUrl: anvil.url, pollingMs: 20, deployment, accountKey },
  };
  const files = ['--proof', write('proof.bin', run.bundle), '--statement', write('statement.json', run.document)];
  return runCommand(...command, ...files, '--profile', write('profile.json', JSON.stringify(profile)));
}

it('optimistic: the node enters the key and proves a challenged segment from files', async () => {
  const { terms, run } = await committed({ mode: JobMode.optimistic, windows: { ...duties, challenge: window } });
  const ofJob = [
    'job',
    'prove-segment',
    to0x(job.plan),
    '--terms',
    write('terms.json', JSON.stringify(termsJson(terms))),
  ];
  const unknown = await byProvider(run, ...ofJob);
  expect(unknown).toMatchObject({ code: 1, json: { error: { code: 'STEP_PLAN' } } });
  const entered = await byProvider(run, 'contracts', 'register-key');
  expect(entered).toMatchObject({ code: 0, json: { plan: to0x(job.plan) } });
  expect(await byProvider(run, 'contracts', 'register-key')).toMatchObject({ code: 0, json: { transaction: null } });
  await market.as('challenger').duties.challenge(terms, 1);
  const { code, json } = await byProvider(run, ...ofJob);
  expect(code).toBe(0);
  const [unasked, challenged] = json['segments'] as { segment: number; transaction: string }[];
  await measure('discharge, first segment of a job', unasked!.transaction, 360_000);
  await measure('discharge, challenged segment', challenged!.transaction, 400_000);
  await market.pass(window + 1);
  await market.as('provider').finalize(terms);
  expect((await market.as('provider').job(terms)).state).toBe('Settled');
}, 300_000);

it('full: every segment is proved, then the provider is paid', async () => {
  const { terms, run } = await committed({ mode: JobMode.full, acceptBy: 2 ** 39 + 1, windows: duties });
  const provider = market.as('provider');
  const before = await market.money();
  await expect(provider.duties.discharge(terms, 1, run.borders, run.seals[0]!)).rejects.toThrow('STEP_STATEMENT');
  const first = await provider.duties.discharge(terms, 0, run.borders, run.seals[0]!);
  await measure('discharge of a whole job, first segment', first.txHash, 360_000);
  await expect(provider.finalize(terms)).rejects.toThrow('DUTY_OPEN');
  const second = await provider.duties.discharge(terms, 1, run.borders, run.seals[1]!);
  await measure('discharge of a whole job, next segment', second.txHash, 360_000);
  await market.pass(window + 1);
  const paid = await provider.finalize(terms);
  await measure('finalize', paid.txHash, 120_000);
  expect((await provider.job(terms)).state).toBe('Settled');
  expect((await market.money()).provider - before.provider).toBe(terms.price);
}, 300_000);

it('takes the gas of the snapshot', () => {
  const all = { hardfork: 'osaka', ...found };
  if (process.env['VERITRAIN_BLESS'] === '1') writeFileSync(snapshotFile, `${JSON.stringify(all, null, 2)}\n`);
  const snapshot = JSON.parse(readFileSync(snapshotFile, 'utf8')) as typeof found;
  expect(Object.keys(all)).toEqual(Object.keys(snapshot));
  for (const [name, { gasBesideCalldata, calldataBytes }] of Object.entries(found)) {
    expect([name, calldataBytes]).toEqual([name, snapshot[name]!.calldataBytes]);
    expect(Math.abs(gasBesideCalldata - snapshot[name]!.gasBesideCalldata), name).toBeLessThanOrEqual(gasOfChance);
  }
});
