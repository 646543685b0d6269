/** The commands about contracts and escrows, against a local chain. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Contract } from 'ethers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { to0x, toHex } from '#attestation/base';
import { closingBond, escrowIdOf, JobMode, specDigestOf, termsJson, type Terms } from '#attestation/records';
import { keepTerms, loadProfile } from '#libs/client';
import { encodeProofBundle, proofStatementText, type ProofStatement } from '#libs/proof';
import { roleNames, zkSelector, type Deployment } from '#libs/settlement';
import {
  duties,
  engage,
  marketTerms,
  native,
  openMarket,
  runOf,
  sealedRun,
  seedClient,
  seedProvider,
  walletOf,
  window,
  type Market,
  type Role,
} from '../support/escrow-market.js';
import { provableJob, sealTrained, trainRun, type ProvableJob, type TrainedRun } from '../support/provable-run.js';
import { runCommand } from '../support/run-command.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-contracts-'));
const path = (name: string): string => join(folder, name);
// Proofs and blocks take their time on a machine that does other things too.
vi.setConfig({ testTimeout: 300_000 });

let market: Market;
let deployment: string;

function write(name: string, content: unknown): string {
  writeFileSync(path(name), typeof content === 'string' ? content : JSON.stringify(content));
  return path(name);
}

/** The profile of one of the market's parties. */
function profileOf(role: Role): string[] {
  const file = write(`${role}.json`, {
    controlPlane: { url: 'http://127.0.0.1:1', apiKey: 'vt_test_test' },
    broker: { url: 'http://127.0.0.1:1', account: `0x${'22'.repeat(20)}`, keysFolder: '.' },
    policy: 'policy.json',
    chain: {
      ...{ rpcUrl: market.anvil.url, pollingMs: 20, deployment: market.deployment },
      accountKey: write(`${role}.test-key`, walletOf(role).privateKey),
    },
    recipientKey: 'recipient.test-key',
  });
  return ['--profile', file];
}

beforeAll(async () => {
  market = await openMarket();
  deployment = write('deployment.json', market.deployment);
});
afterAll(async () => {
  await market?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const job = (): ProvableJob => provableJob(market.deployment, 'separate', 2);
let salt = 0;
function termsOf(of: ProvableJob, change: Parameters<typeof marketTerms>[0]): Terms {
  salt++;
  const initialWeights = of.prepared.genesisDigest;
  const spec = { specDigest: specDigestOf(of.spec), initialWeights, segments: of.manifest.steps };
  return marketTerms({ ...spec, acceptBy: 2 ** 39 + salt, ...change });
}

/** `veritrain job <name>` by one of the parties. */
async function byParty(role: Role, name: string, terms: Terms, ...more: string[]) {
  const file = write(`terms-${toHex(escrowIdOf(terms)).slice(0, 8)}.json`, termsJson(terms));
  return runCommand('job', name, to0x(terms.specDigest), '--terms', file, ...more, ...profileOf(role));
}

const errorOf = ({ json }: { json: Record<string, unknown> }) => (json['error'] as { code: string }).code;

describe('veritrain contracts', () => {
  const where = () => ['--rpc', market.anvil.url, '--deployment', deployment];

  /** What a careful reader of this test chain expects. */
  const expectation = (setup: unknown): string =>
    write('expectation.json', { ...(setup as object), governorMayBeAccount: true });

  it('S-H5 deploys a set that it then finds to be what was planned', async () => {
    const out = path('second.json');
    const key = write('deployer.test-key', walletOf('deployer').privateKey);
    const chain = ['--rpc', market.anvil.url, '--chain-id', String(market.anvil.chainId), '--key', key];
    const registry = market.deployment.snpRegistry; // stands for an ERC-8004 registry: nothing is asked of it here
    const extra = ['--proof-facts', '--auditors-policy', `0x${'ab'.repeat(32)}`, '--validation-registry', registry];
    const deployed = await runCommand(
      'contracts',
      'deploy',
      ...chain,
      '--salt',
      `0x${'02'.repeat(32)}`,
      '--out',
      out,
      ...extra,
    );
    expect(deployed).toMatchObject({ code: 0, json: { chainId: market.anvil.chainId } });
    const deployerIs = roleNames.flatMap((role) => [`--${role}`, walletOf('deployer').address]);
    const planned = await runCommand(
      ...['contracts', 'plan', '--chain-id', String(market.anvil.chainId), '--salt', `0x${'02'.repeat(32)}`],
      ...[...deployerIs, ...extra, '--out', path('plan.json')],
    );
    expect(planned.json['addresses']).toMatchObject({
      settlement: (deployed.json as { settlement: string }).settlement,
    });
    const second = ['--rpc', market.anvil.url, '--deployment', out];
    expect(errorOf(await runCommand('contracts', 'verify', ...second))).toBe('CONTRACTS_EXPECT');
    const strict = await runCommand('contracts', 'verify', ...second, '--expect', path('plan.json'));
    expect((strict.json['against'] as { what: string }[]).map(({ what }) => what)).toEqual(['governor, code']);
    const reader = ['--expect', expectation(planned.json['setup'])];
    expect(await runCommand('contracts', 'verify', ...second, ...reader)).toMatchObject({
      ...{ code: 0, json: { verified: true } },
    });
    const { json } = await runCommand('contracts', 'status', ...second);
    expect(json).toMatchObject({ paused: false, heldWei: '0', revoker: walletOf('deployer').address });
    const live = (json['verifiers'] as { live: boolean }[]).map((one) => one.live);
    expect(live).toEqual(new Array(6).fill(true));
    const other = ['--rpc', market.anvil.url, '--chain-id', '1', '--key', key];
    expect(errorOf(await runCommand('contracts', 'deploy', ...other, '--out', out))).toBe('CHAIN_OTHER');
  });

  it.each<[string, (good: Deployment) => Partial<Deployment>, string[]]>([
    ['another contract in the place of one', (good) => ({ rules: good.randao }), ['rules, address']],
    ['an account in place of a contract', () => ({ p384: walletOf('client').address }), ['p384, address']],
    ['another chain', () => ({ chainId: 1 }), ['chain, file']],
    [
      'another hash in the file',
      (good) => ({ codeHashes: { ...good.codeHashes, router: `0x${'00'.repeat(32)}` } }),
      ['router, file'],
    ],
  ])('S-H5 finds %s', async (_, change, expected) => {
    const file = write('changed.json', { ...market.deployment, ...change(market.deployment) });
    const expects = ['--expect', expectation(market.deployment.setup)];
    const where = ['--rpc', market.anvil.url, '--deployment', file];
    const { code, json } = await runCommand('contracts', 'verify', ...where, ...expects);
    expect(code).toBe(1);
    expect((json['against'] as { what: string }[]).map(({ what }) => what)).toEqual(expected);
  });

  it('passes a role on in two steps, and hands the call to a timelock', async () => {
    const where = ['--rpc', market.anvil.url, '--deployment', deployment];
    const key = ['--key', write('deployer.test-key', walletOf('deployer').privateKey)];
    const heir = walletOf('challenger').address;
    const printed = await runCommand('contracts', 'roles', 'propose', 'guardian', heir, '--print', ...where);
    expect(printed.json).toMatchObject({ to: market.deployment.roles, by: 'governor' });
    expect((await runCommand('contracts', 'roles', 'propose', 'guardian', heir, ...where, ...key)).code).toBe(0);
    const { json } = await runCommand('contracts', 'status', ...where);
    expect(json['proposed']).toMatchObject([{ role: 'guardian', to: heir }]);
    const heirs = ['--key', write('challenger.test-key', walletOf('challenger').privateKey)];
    expect(errorOf(await runCommand('contracts', 'roles', 'take', 'guardian', ...where, ...heirs))).toBe('TOO_EARLY');
    expect(errorOf(await runCommand('contracts', 'roles', 'pause', ...where, ...heirs))).toBe('CALLER');
    const nobody = `0x${'00'.repeat(20)}`;
    expect((await runCommand('contracts', 'roles', 'propose', 'guardian', nobody, ...where, ...key)).code).toBe(0);
  });

  it('sees a verifier that was retired', async () => {
    const guardian = walletOf('deployer').connect(market.chain);
    const { router } = JSON.parse(readFileSync(path('second.json'), 'utf8')) as Deployment;
    await (
      await new Contract(router, ['function tombstone(bytes4)'], guardian).getFunction('tombstone')(zkSelector)
    ).wait();
    const second = ['--rpc', market.anvil.url, '--deployment', path('second.json')];
    const { json } = await runCommand('contracts', 'status', ...second);
    expect(json['guardian']).toBe(guardian.address);
    const verifiers = json['verifiers'] as { selector: string; live: boolean }[];
    expect(verifiers.filter(({ live }) => !live).map(({ selector }) => selector)).toEqual([to0x(zkSelector)]);
    const { code, json: verified } = await runCommand('contracts', 'verify', ...second, '--own-setup');
    const against = (verified['against'] as { what: string }[]).map(({ what }) => what);
    expect([code, against]).toEqual([1, ['governor, code', 'router, retired']]);
  });

  it('says what is wrong with a file, and that the chain does not answer', async () => {
    const { settlement: _, ...incomplete } = market.deployment;
    const file = write('incomplete.json', incomplete);
    const at = ['--rpc', market.anvil.url, '--deployment'];
    expect(errorOf(await runCommand('contracts', 'verify', ...at, file))).toBe('CHAIN_DEPLOYMENT');
    const nowhere = ['--rpc', 'http://127.0.0.1:9', '--deployment', deployment];
    expect(errorOf(await runCommand('contracts', 'status', ...nowhere))).toBe('CHAIN_UNREACHABLE');
    expect((await runCommand('contracts', 'status', ...where())).code).toBe(0);
  });
});

describe('veritrain job', () => {
  it('challenge and prove-segment: the node answers, and the rest is settled', async () => {
    const of = job();
    const terms = termsOf(of, { mode: JobMode.optimistic, windows: { ...duties, challenge: window } });
    await engage(market, terms);
    const run = trainRun(of);
    await market.as('provider').commit(terms, runOf(run.borders));
    expect(errorOf(await byParty('challenger', 'challenge', terms, '--segment', '2'))).toBe('SEGMENT_INDEX');
    const closed = await byParty('challenger', 'challenge', { ...terms, bond: closingBond }, '--segment', '1');
    expect(errorOf(closed)).toBe('ESCROW_NO_CHALLENGE');
    const challenged = await byParty('challenger', 'challenge', terms, '--segment', '1');
    expect(challenged.json).toMatchObject({ segment: 1, bondWei: String(terms.bond) });
    expect((await byParty('client', 'settle', terms)).json).toMatchObject({ call: 'wait', transaction: null });
    const files = proofFiles(of, terms, run, 1);
    const proved = await byParty('provider', 'prove-segment', terms, ...files);
    expect(proved).toMatchObject({ code: 0, json: { segments: [{ segment: 1 }] } });
    await market.pass(window + 1);
    expect((await byParty('client', 'settle', terms)).json).toMatchObject({ call: 'finalize' });
    expect((await market.as('client').job(terms)).state).toBe('Settled');
    const other = termsOf(of, { mode: JobMode.full, windows: duties });
    expect(errorOf(await byParty('provider', 'prove-segment', other, ...files))).toBe('PROOF_ESCROW');
    expect(errorOf(await byParty('client', 'settle', terms))).toBe('ESCROW_STATE');
    expect((await runCommand('job', 'withdraw', ...profileOf('provider'))).json).toMatchObject({
      amountWei: String(terms.price + terms.bond - terms.bondFee),
    });
    expect((await runCommand('job', 'withdraw', ...profileOf('provider'))).json).toEqual({
      amountWei: '0',
      transaction: null,
    });
    const free = async () => (await market.as('provider').stakeOf(walletOf('provider').address, native)).free;
    const kept = await free();
    expect(kept).toBeGreaterThan(0n);
    const taken = await runCommand('job', 'withdraw', '--free-stake', ...profileOf('provider'));
    expect(taken.json).toMatchObject({ amountWei: String(kept), transaction: expect.any(String) });
    expect(await free()).toBe(0n);
  });

  it('settle: draws with the seed, then ends the job of a node that does not prove', async () => {
    const of = job();
    const terms = termsOf(of, { mode: JobMode.sample, samples: 1, windows: duties });
    await engage(market, terms);
    await market.as('provider').commit(terms, runOf(trainRun(of, [0, 1]).borders, { seedProvider }));
    expect((await byParty('client', 'settle', terms)).json).toMatchObject({ call: 'wait' });
    expect((await byParty('client', 'settle', terms)).json).toMatchObject({ call: 'wait' });
    const wrong = write('seed.test-key', `0x${'00'.repeat(32)}`);
    expect(errorOf(await byParty('client', 'settle', terms, '--seed', wrong))).toBe('SEED');
    // As `job submit` keeps it.
    keepTerms(loadProfile(profileOf('client')[1]), to0x(terms.specDigest), terms, seedClient);
    expect((await byParty('client', 'settle', terms)).json).toMatchObject({ call: 'draw' });
    expect((await byParty('client', 'settle', terms)).json).toMatchObject({ call: 'wait' });
    await market.pass(3 * window);
    expect((await byParty('challenger', 'settle', terms)).json).toMatchObject({ call: 'lapse' });
    expect((await market.as('client').job(terms)).state).toBe('Slashed');
  });

  it('exit: each way out, and none before its time', async () => {
    const of = job();
    const mode = JobMode.tee | JobMode.reveal;
    const revealed = { mode, dutySelectors: [], windows: { reveal: window, ack: window } };
    const [open, accepted, started, committed, unsealed] = [0, 1, 2, 3, 4].map(() => termsOf(of, revealed)) as [
      Terms, Terms, Terms, Terms, Terms,
    ]; // prettier-ignore
    expect(errorOf(await byParty('client', 'exit', open))).toBe('ESCROW_NO_EXIT');
    await market.as('client').open(open);
    expect((await byParty('client', 'exit', open)).json).toMatchObject({ call: 'cancel' });
    await market.as('client').open(accepted);
    await market.as('provider').accept(accepted);
    await engage(market, started);
    await engage(market, committed);
    await engage(market, unsealed);
    const { borders } = trainRun(of);
    await market.as('provider').commit(committed, sealedRun(market, committed, borders, { delivery: seedClient }));
    for (const terms of [accepted, started, committed]) {
      expect(errorOf(await byParty('client', 'exit', terms))).toBe('ESCROW_NO_EXIT');
    }
    expect((await byParty('client', 'missing', committed)).code).toBe(0);
    expect((await byParty('client', 'settle', committed)).json).toMatchObject({ call: 'wait' });
    await market.pass(2 * window + 1);
    const calls: unknown[] = [];
    for (const terms of [accepted, started, committed, unsealed]) {
      calls.push((await byParty('client', 'exit', terms)).json['call']);
    }
    expect(calls).toEqual(['abort', 'abandon', 'undelivered', 'abandon']);
    const states = await Promise.all([open, accepted, started, committed].map((t) => market.as('client').job(t)));
    expect(states.map(({ state }) => state)).toEqual(['Aborted', 'Aborted', 'Abandoned', 'Undelivered']);
  });
});

/** What a prover writes for one segment. */
function proofFiles(of: ProvableJob, terms: Terms, run: TrainedRun, index: number): string[] {
  const provider = market.as('provider');
  const { proof, statement } = sealTrained(of, provider, terms, run, index);
  const document: ProofStatement = {
    ...{ backend: 'sumcheck', profile: statement.profile, variant: statement.variant, manifest: of.manifest },
    jobId: of.jobId,
    recordCount: statement.recordCount,
    ...{ datasetRoot: statement.datasetRoot, firstStep: index, borders: [statement.before, statement.after] },
    segments: [{ data: statement.data, path: statement.dataPath }],
    escrow: { domain: provider.domain, job: escrowIdOf(terms) },
  };
  writeFileSync(path('proof'), encodeProofBundle([proof]));
  write('proof.json', proofStatementText(document));
  return ['--proof', path('proof'), '--statement', path('proof.json')];
}
