/**
 * Every mode of the escrow on a local chain: real training, real proofs of 100 bits, real balances. Only the enclave is
 * played, by a key that the broker has released to; the main job has a session of its own.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { keccak, utf8 } from '#attestation/base';
import {
  availabilityDigest,
  deliveryDigest,
  escrowIdOf,
  JobMode,
  specDigestOf,
  type Terms,
} from '#attestation/records';
import { addressBytes } from '#libs/settlement';
import {
  duties,
  engage,
  marketTerms,
  native,
  openMarket,
  revokeKey,
  runOf,
  sealedRun,
  stolenKey,
  seedClient,
  seedProvider,
  sign,
  walletOf,
  window,
  type Market,
  type Money,
  type TermsChange,
} from '../support/escrow-market.js';
import {
  falseSegments,
  provableJob,
  sealChain,
  sealTrained,
  trainRun,
  type ProvableJob,
  type TrainedRun,
} from '../support/provable-run.js';

// Proofs and blocks take their time on a machine that does other things too.
vi.setConfig({ testTimeout: 300_000 });

let market: Market;
let salt = 0;
beforeAll(async () => {
  market = await openMarket();
});
afterAll(async () => market?.stop());
afterEach(async () => {
  const { holds, owes } = await market.conserved();
  expect(holds).toBe(owes);
});

const code = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'done',
    (error: { code?: string }) => error.code ?? String(error),
  );

function termsOf(job: ProvableJob, change: TermsChange): Terms {
  salt++;
  const acceptBy = 2 ** 39 + salt;
  const initialWeights = job.prepared.genesisDigest;
  const segments = job.manifest.steps;
  return marketTerms({ specDigest: specDigestOf(job.spec), initialWeights, segments, acceptBy, ...change });
}

/** What each party's credits and stakes change by, from the moment that the client has paid. */
async function gains(before: Money): Promise<Money> {
  const after = await market.money();
  const gain = (who: keyof Money): bigint => after[who] - before[who];
  return {
    client: gain('client'),
    provider: gain('provider'),
    challenger: gain('challenger'),
    treasury: gain('treasury'),
  };
}

const nothing: Money = { client: 0n, provider: 0n, challenger: 0n, treasury: 0n };

async function discharge(job: ProvableJob, terms: Terms, run: TrainedRun, segments: Iterable<number>): Promise<void> {
  const provider = market.as('provider');
  for (const index of segments) {
    const { seal } = sealTrained(job, provider, terms, run, index);
    await provider.duties.discharge(terms, index, run.borders, seal);
  }
}

describe('full: every segment is proved', () => {
  it('pays for a proved prefix, then for the whole run', async () => {
    const job = provableJob(market.deployment, 'joint', 3);
    const terms = termsOf(job, { mode: JobMode.full, windows: duties });
    const provider = market.as('provider');
    await engage(market, terms);
    const before = await market.money();
    const chain = sealChain(job, provider, terms);
    const borders = [job.prepared.genesisDigest, ...chain.map(({ border }) => border)];
    await provider.commit(terms, runOf(borders));
    expect(await code(provider.finalize(terms))).toBe('DUTY_OPEN');
    expect(await provider.duties.list(terms)).toHaveLength(3);

    const [first, second] = chain.map(({ seal }) => seal);
    expect(await code(provider.duties.discharge(terms, 1, borders, first!))).toBe('STEP_STATEMENT');
    const altered = Uint8Array.from(first!);
    altered[altered.length - 40]! ^= 1;
    expect(await code(provider.duties.discharge(terms, 0, borders, altered))).toMatch(/^STEP_/);

    const proved = await provider.duties.discharge(terms, 0, borders, first!);
    expect(await provider.duties.discharge(terms, 0, borders, first!)).toEqual(proved);
    await market.as('challenger').duties.discharge(terms, 1, borders, second!);
    expect(await code(provider.claimPrefix(terms, 3))).toBe('DUTY_OPEN');
    // A proof holds from the second after it, however quick the machine.
    await market.pass(1);
    const claimed = await provider.claimPrefix(terms, 2);
    expect(await provider.claimPrefix(terms, 2)).toEqual(claimed);
    expect((await gains(before)).provider).toBe((((terms.price * 2n) / 3n) * 9n) / 10n);
    await provider.duties.discharge(terms, 2, borders, chain[2]!.seal);
    await market.pass(window + 1);
    await provider.finalize(terms);
    expect((await provider.job(terms)).state).toBe('Settled');
    expect(await gains(before)).toEqual({ ...nothing, provider: terms.price });
  });

  it('takes half of the stake for the client when a proof does not come', async () => {
    const job = provableJob(market.deployment, 'joint', 2);
    const terms = termsOf(job, { mode: JobMode.full, windows: duties });
    const provider = market.as('provider');
    await engage(market, terms);
    const before = await market.money();
    await provider.commit(terms, runOf(trainRun(job, [1]).borders));
    expect(await code(market.as('challenger').duties.lapse(terms, 1))).toBe('TOO_EARLY');
    await market.pass(3 * window + 1);
    await market.as('challenger').duties.lapse(terms, 1);
    expect((await provider.job(terms)).state).toBe('Slashed');
    const half = terms.stake / 2n;
    expect(await gains(before)).toEqual({
      ...nothing,
      client: terms.price + half,
      provider: -terms.stake,
      treasury: half,
    });
  });
});

describe('tee and zk together', () => {
  it('pays when what was drawn of the sealed run is proved too', async () => {
    const job = provableJob(market.deployment, 'separate', 2);
    const terms = termsOf(job, { mode: JobMode.tee | JobMode.sample, samples: 1, windows: duties });
    const provider = market.as('provider');
    await engage(market, terms);
    const before = await market.money();
    const run = trainRun(job);
    await provider.commit(terms, { ...sealedRun(market, terms, run.borders), seedProvider });
    expect(await code(provider.finalize(terms))).toBe('DUTY_OPEN');
    // Nobody proves what could still be unsealed.
    expect(await code(market.as('client').duties.draw(terms, seedClient))).toBe('DRAW_NOT_FINAL');
    await market.pass(window + 2);
    await market.as('client').duties.draw(terms, seedClient);
    await discharge(job, terms, run, (await provider.duties.sampleOf(terms))!);
    await market.pass(window + 1);
    await provider.finalize(terms);
    expect(await gains(before)).toEqual({ ...nothing, provider: terms.price });
  });

  it('pays when the sealed run is proved throughout', async () => {
    const job = provableJob(market.deployment, 'separate', 2);
    const terms = termsOf(job, { mode: JobMode.tee | JobMode.full, windows: duties });
    const provider = market.as('provider');
    await engage(market, terms);
    const before = await market.money();
    const run = trainRun(job);
    await provider.commit(terms, sealedRun(market, terms, run.borders));
    await discharge(job, terms, run, [0]);
    expect(await code(provider.finalize(terms))).toBe('DUTY_OPEN');
    await discharge(job, terms, run, [1]);
    await market.pass(window + 1);
    await provider.finalize(terms);
    expect(await gains(before)).toEqual({ ...nothing, provider: terms.price });
  });

  it('falls back to proofs when the key behind the seal is revoked', async () => {
    const job = provableJob(market.deployment, 'separate', 2);
    const terms = termsOf(job, { mode: JobMode.tee, windows: { ...duties, challenge: window } });
    const provider = market.as('provider');
    await engage(market, terms, stolenKey);
    const before = await market.money();
    const run = trainRun(job);
    await provider.commit(terms, sealedRun(market, terms, run.borders, { key: stolenKey }));
    const key = addressBytes(stolenKey.address);
    expect(await code(market.as('challenger').keys.unseal(terms, key))).toBe('KEY_LIVE');
    await revokeKey(market, terms, stolenKey);
    const unsealed = await market.as('challenger').keys.unseal(terms, key);
    expect(await market.as('client').keys.unseal(terms, key)).toEqual(unsealed);
    expect(await provider.job(terms)).toMatchObject({ sealed: false, allDue: true, dueByUnseal: true });
    await discharge(job, terms, run, [1, 0]);
    await market.pass(window + 1);
    await provider.finalize(terms);
    expect(await gains(before)).toEqual({ ...nothing, provider: terms.price });
  });
});

describe('sampled: a few segments, drawn after the run is fixed', () => {
  const sampled = { mode: JobMode.sample, windows: duties };
  const committed = (run: TrainedRun) => runOf(run.borders, { seedProvider });

  it('pays an honest node that proves what was drawn', async () => {
    const job = provableJob(market.deployment, 'separate', 4);
    const terms = termsOf(job, { ...sampled, samples: 2 });
    const [client, provider] = [market.as('client'), market.as('provider')];
    await engage(market, terms);
    const before = await market.money();
    const run = trainRun(job);
    await provider.commit(terms, committed(run));
    expect(await code(client.duties.draw(terms, seedProvider))).toBe('SEED');
    const drawn = await client.duties.draw(terms, seedClient);
    expect(await client.duties.draw(terms, seedClient)).toEqual(drawn);
    const sample = (await provider.duties.sampleOf(terms))!;
    expect(sample).toHaveLength(2);
    expect(await code(provider.finalize(terms))).toBe('DUTY_OPEN');
    await discharge(job, terms, run, new Set(sample));
    expect((await provider.duties.list(terms)).every(({ proved }) => proved)).toBe(true);
    await market.pass(window + 1);
    await provider.finalize(terms);
    expect(await gains(before)).toEqual({ ...nothing, provider: terms.price });
  });

  it('catches a node that trained one segment of four', async () => {
    const job = provableJob(market.deployment, 'separate', 4);
    const terms = termsOf(job, { ...sampled, samples: 12 });
    const [client, provider] = [market.as('client'), market.as('provider')];
    await engage(market, terms);
    const before = await market.money();
    const run = trainRun(job, [1, 2, 3]);
    expect(falseSegments(job, run)).toEqual([1, 2, 3]);
    await provider.commit(terms, committed(run));
    await client.duties.draw(terms, seedClient);
    const caught = (await provider.duties.sampleOf(terms))!.find((segment) => segment > 0)!;
    // What it can prove is the true transition, to a border that it did not commit.
    const truth = sealTrained(job, provider, terms, run, caught);
    expect(await code(provider.duties.discharge(terms, caught, run.borders, truth.seal))).toBe('STEP_STATEMENT');
    const borders = run.borders.map((border, i) => (i === caught + 1 ? truth.border : border));
    expect(await code(provider.duties.discharge(terms, caught, borders, truth.seal))).toBe('SEGMENT_PATH');
    await market.pass(14 * window);
    await market.as('challenger').duties.lapse(terms, caught);
    const half = terms.stake / 2n;
    expect(await gains(before)).toEqual({
      ...nothing,
      client: terms.price + half,
      provider: -terms.stake,
      treasury: half,
    });
  });

  it('draws from a fixed block when the client keeps its seed', async () => {
    const job = provableJob(market.deployment, 'separate', 2);
    const terms = termsOf(job, { ...sampled, samples: 1 });
    const provider = market.as('provider');
    await engage(market, terms);
    const before = await market.money();
    const run = trainRun(job);
    await provider.commit(terms, committed(run));
    expect(await code(provider.duties.drawFallback(terms))).toBe('CHAIN_HEADER');
    await market.mine(40);
    expect(await code(provider.duties.drawFallback(terms))).toBe('TOO_EARLY');
    await market.pass(window + 1);
    const drawn = await provider.duties.drawFallback(terms);
    expect(await provider.duties.drawFallback(terms)).toEqual(drawn);
    await discharge(job, terms, run, (await provider.duties.sampleOf(terms))!);
    await market.pass(window + 1);
    await provider.finalize(terms);
    expect(await gains(before)).toEqual({ ...nothing, provider: terms.price });
  });
});

describe('optimistic: a challenger names a false segment in one move', () => {
  const optimistic = { mode: JobMode.optimistic, windows: { ...duties, challenge: window } };

  it('pays after the window when nobody challenges', async () => {
    const job = provableJob(market.deployment, 'separate', 2);
    const terms = termsOf(job, optimistic);
    const provider = market.as('provider');
    await engage(market, terms);
    const before = await market.money();
    await provider.commit(terms, runOf(trainRun(job).borders));
    expect(await code(provider.finalize(terms))).toBe('TOO_EARLY');
    await market.pass(window + 1);
    await provider.finalize(terms);
    expect(await code(market.as('challenger').duties.challenge(terms, 0))).toBe('JOB_STATE');
    expect(await gains(before)).toEqual({ ...nothing, provider: terms.price });
  });

  it('slashes a cheater, pays the challenger', async () => {
    const job = provableJob(market.deployment, 'separate', 3);
    const terms = termsOf(job, optimistic);
    const [provider, challenger] = [market.as('provider'), market.as('challenger')];
    await engage(market, terms);
    const before = await market.money();
    const run = trainRun(job, [1]);
    await provider.commit(terms, runOf(run.borders));
    const [wrong] = falseSegments(job, run);
    expect(wrong).toBe(1);
    const opened = await challenger.duties.challenge(terms, wrong!);
    expect(await challenger.duties.challenge(terms, wrong!)).toEqual(opened);
    // A cheater may challenge itself where it is honest: that acquits nobody.
    await provider.duties.challenge(terms, 0);
    await discharge(job, terms, run, [0]);
    expect(await code(provider.finalize(terms))).toBe('DUTY_OPEN');
    await market.pass(4 * window);
    await challenger.duties.lapse(terms, wrong!);
    expect((await provider.job(terms)).state).toBe('Slashed');
    const third = terms.stake / 3n;
    expect(await gains(before)).toEqual({
      client: terms.price + third,
      // Of its own bond it got back all but the fee.
      provider: -terms.stake + terms.bond - terms.bondFee,
      challenger: third + terms.bond,
      treasury: terms.stake - 2n * third + terms.bondFee,
    });
  });

  it('takes the bond of a challenger who was wrong', async () => {
    const job = provableJob(market.deployment, 'separate', 2);
    const terms = termsOf(job, optimistic);
    const [provider, griefer] = [market.as('provider'), market.as('challenger')];
    await engage(market, terms);
    const before = await market.money();
    const run = trainRun(job);
    await provider.commit(terms, runOf(run.borders));
    await griefer.duties.challenge(terms, 1);
    await discharge(job, terms, run, [1]);
    expect(await code(griefer.duties.challenge(terms, 1))).toBe('done');
    expect(await code(market.as('client').duties.challenge(terms, 1))).toBe('SEGMENT_PROVED');
    await market.pass(window + 1);
    await provider.finalize(terms);
    expect(await gains(before)).toEqual({
      ...nothing,
      provider: terms.price + terms.bond - terms.bondFee,
      treasury: terms.bondFee,
    });
  });
});

describe('what is withheld costs nobody their own money', () => {
  const mode = JobMode.tee | JobMode.reveal;
  const revealed = { mode, dutySelectors: [], windows: { reveal: window, ack: window } };
  const ciphertext = keccak(utf8('test ciphertext'));
  const key = keccak(utf8('test key of the result'));
  const delivery = deliveryDigest(ciphertext, keccak(key));

  async function committed(): Promise<{ terms: Terms; before: Money }> {
    const job = provableJob(market.deployment, 'separate', 1);
    const terms = termsOf(job, revealed);
    await engage(market, terms);
    const before = await market.money();
    await market.as('provider').commit(terms, sealedRun(market, terms, trainRun(job).borders, { delivery }));
    return { terms, before };
  }

  it('the data: everything goes back', async () => {
    const terms = termsOf(provableJob(market.deployment, 'separate', 1), revealed);
    await market.as('client').open(terms);
    await market.as('provider').accept(terms);
    const before = await market.money();
    expect(await code(market.as('challenger').abort(terms))).toBe('TOO_EARLY');
    await market.pass(window + 1);
    await market.as('challenger').abort(terms);
    expect(await gains(before)).toEqual({ ...nothing, client: terms.price });
  });

  it('the key: the client has its price back, and the liveness', async () => {
    const { terms, before } = await committed();
    await market.as('client').delivery.acknowledge(terms);
    await market.pass(2 * window + 2);
    await market.as('challenger').undelivered(terms);
    expect(await gains(before)).toEqual({
      ...nothing,
      client: terms.price + terms.liveness,
      provider: -terms.liveness,
    });
  });

  it('the result: the same, and the deposit', async () => {
    const { terms, before } = await committed();
    const asked = await market.as('client').delivery.missing(terms);
    expect(await market.as('client').delivery.missing(terms)).toEqual(asked);
    await market.pass(window + 1);
    expect(await code(market.as('provider').finalize(terms, { ciphertextDigest: ciphertext, key }))).toBe(
      'DELIVERY_PENDING',
    );
    await market.as('challenger').undelivered(terms);
    expect(await gains(before)).toEqual({
      ...nothing,
      client: terms.price + terms.liveness + terms.publishFee,
      provider: -terms.liveness,
    });
  });

  it('the result, by a client who has it: its deposit goes to the provider, who is paid', async () => {
    const { terms, before } = await committed();
    const [client, provider] = [market.as('client'), market.as('provider')];
    await client.delivery.missing(terms);
    const until = 2 ** 39;
    const availability = availabilityDigest(provider.domain, escrowIdOf(terms), ciphertext, until);
    const signatures = [{ signer: terms.keyBroker, signature: sign(walletOf('broker'), availability) }];
    await provider.delivery.available(terms, ciphertext, keccak(key), { until, signatures });
    await market.pass(window + 1);
    await provider.finalize(terms, { ciphertextDigest: ciphertext, key });
    expect(await gains(before)).toEqual({ ...nothing, provider: terms.price + terms.publishFee });
  });
});

describe('at the end', () => {
  it('everybody takes out what is theirs, and the contract is empty', async () => {
    const provider = market.as('provider');
    await provider.stakeDownTo(native, 0n);
    for (const role of ['client', 'provider', 'challenger', 'treasury'] as const)
      await market.as(role).withdraw(native);
    expect(await market.chain.getBalance(market.deployment.settlement)).toBe(0n);
  });
});
