/** What `job submit` asks for on each kind of chain, and what hosts and provers with default settings say to it. */
import { describe, expect, it } from 'vitest';
import { fromHex, to0x, utf8, type Rejection } from '#attestation/base';
import { closingBond, encodeJobSpec, escrowIdOf, jobIdOf, JobMode, termsFit, type JobSpec } from '#attestation/records';
import { termsFor, type Agreed, type EscrowParties, type Order } from '#libs/client';
import { chainKinds, chainSettings, type ChainKind } from '#libs/settlement';
import { canonicalManifest, profileManifest, type Manifest } from '#libs/step';
import { contract, chainId, provider, tinyDataset, tinyJob, tinyManifest } from '#test/tiny-job';
import { EscrowSettings } from '../../apps/host-agent/src/settings.js';
import { checkTerms, limitsOn, type OwnSide } from '../../apps/host-agent/src/terms.js';
import { checkTerms as checkAsProver } from '../../apps/prover-worker/src/node/offered-job.js';
import { ProverEscrow } from '../../apps/prover-worker/src/node/settings.js';

const account = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;
const [client, broker, a, b] = [account(1), account(2), account(3), account(4)] as const;
const publishWei = 10n ** 9n;
const hour = 3600;
const manifest = tinyManifest({ steps: 12, superblock: 4 });
const plain = await tinyJob({ manifest, segmentSteps: 4 });
const provable = await tinyJob({
  manifest,
  dataset: await tinyDataset(manifest, { proving: 'fast16' }),
  segmentSteps: 4,
});
const ofAssurance = (assurance: JobSpec['assurance']): JobSpec => ({
  ...(assurance === 'tee' ? plain : provable).spec,
  assurance,
});

interface Asked {
  readonly parties?: Partial<EscrowParties>;
  readonly order?: Partial<Order>;
  readonly spec?: JobSpec;
  readonly manifest?: Manifest;
}

function ask(kind: ChainKind, { parties, order, spec = plain.spec, manifest: m = manifest }: Asked = {}): Agreed {
  const named = { client: fromHex(client), provider: to0x(provider), keyBroker: broker };
  return termsFor(spec, m, { ...named, ...parties } as EscrowParties, {
    ...{ rewardWei: 10n ** 17n, onLapse: 'tee', samples: 2, kind, publishWei },
    ...order,
  });
}

/** As the host's settings are when nobody wrote any, but for what is given. */
function host(kind: ChainKind, escrow: object = {}, attestors: readonly string[] = []): OwnSide {
  return {
    ...{ account: provider, chainId, settlement: contract, snpPolicies: new Map() },
    attestors: Object.fromEntries(attestors.map((one) => [one, 'https://attestor.example'])),
    limits: limitsOn(chainSettings[kind], EscrowSettings.parse(escrow)),
  };
}

function answer({ terms }: Agreed, own: OwnSide, spec: JobSpec = plain.spec): Rejection | 'accepted' {
  try {
    checkTerms({ jobId: to0x(jobIdOf(spec)), escrowId: to0x(escrowIdOf(terms)) }, terms, spec, own, publishWei);
    return 'accepted';
  } catch (error) {
    return error as Rejection;
  }
}

/** Attestors of whom §19 asks so many where the broker is not the client's own. */
const asked = (kind: ChainKind): readonly string[] => [a, b].slice(0, chainSettings[kind].attestation.needed);

describe.each(chainKinds)('S-H4 the least that `job submit` takes on a chain of kind %s', (kind) => {
  const attestors = asked(kind);
  const least = ask(kind, { parties: { attestors } });

  it('S-H4 is taken by a host that knows the attestors, or the host says what it must be set to', () => {
    const said = answer(least, host(kind, {}, attestors));
    if (kind === 'local' || kind === 'l1') {
      expect(said).toBe('accepted');
      expect(least.advice).toEqual([]);
      return;
    }
    const remedy = expect.stringMatching(
      new RegExp(`--needed 2; or put ${broker} into escrow.independentBrokers .* escrow.acceptClientQuorum .* true$`),
    );
    expect(said).toMatchObject({ code: 'HOST_TERMS_QUORUM', detail: { action: remedy } });
    expect(least.advice).toEqual([expect.stringContaining((said as Rejection).detail.action!)]);
  });

  it('S-H4 is taken by every host that was set as it says', () => {
    for (const escrow of [{ independentBrokers: [broker] }, { acceptClientQuorum: true }]) {
      expect(answer(least, host(kind, escrow, attestors))).toBe('accepted');
    }
  });

  it('S-H4 is taken everywhere with two attestors that are nobody’s own', () => {
    for (const keyBroker of [broker, client]) {
      const more = ask(kind, { parties: { attestors: [a, b], keyBroker } });
      expect(answer(more, host(kind, {}, [a, b]))).toBe('accepted');
      expect(more.advice).toEqual([]);
    }
  });

  it('S-H4 a client that is its own broker is told that the host alone can decide', () => {
    const own = ask(kind, { parties: { keyBroker: client } });
    const said = answer(own, host(kind, { independentBrokers: [client] }));
    if (kind === 'local') return expect(said).toBe('accepted');
    expect(said).toMatchObject({ code: 'HOST_TERMS_QUORUM' });
    expect((said as Rejection).detail.action).not.toContain('independentBrokers');
    expect(answer(own, host(kind, { acceptClientQuorum: true }))).toBe('accepted');
    return expect(own.advice).toHaveLength(1);
  });

  it('S-H4 names the attestors that a host lacks', () => {
    if (attestors.length === 0) return;
    expect(answer(least, host(kind, { acceptClientQuorum: true }))).toMatchObject({ code: 'HOST_TERMS_ATTESTOR' });
  });
});

describe.each(chainKinds)('Z-H2 windows of a run on a chain of kind %s', (kind) => {
  const chain = chainSettings[kind];
  const quorum = { attestors: [a, b] };

  it.each(['tee', 'tee+zk', 'zk', 'sampled'] as const)('Z-H2 follow its length, with assurance %s', (assurance) => {
    if (assurance === 'sampled' && chain.sample === null) return;
    const spec = ofAssurance(assurance);
    const isProved = assurance !== 'tee';
    const short = ask(kind, { spec, parties: quorum });
    expect(short.terms.windows.compute).toBe(24 * hour);
    expect(short.terms.windows.provePer).toBe(isProved ? 4 * 30 : 0);
    const run = { runHours: 100, proofSeconds: 600 };
    const { windows } = ask(kind, { spec, parties: quorum, order: { run } }).terms;
    expect(windows.compute).toBe(3 * (100 * hour + (isProved ? 3 * 600 : 0)));
    expect(windows.provePer).toBe(isProved ? 4 * 600 : 0);
    const { leastSeconds, runs } = chain.challengeUnsealed;
    const unsealed = Math.max(leastSeconds, runs * 100 * hour);
    expect(windows.challenge).toBe(assurance === 'tee' ? chain.challengeSealed : unsealed);
  });

  it('Z-H2 grow with the model where nobody says how long it takes', () => {
    const wide = profileManifest('fx1', {
      ...{ dims: [784, 1024, 1024, 10], batch: 512, e: 8, steps: 20_000, superblock: 128 },
      seed: `0x${'5a'.repeat(32)}`,
    });
    const spec = { ...plain.spec, manifest: canonicalManifest(wide), segmentSteps: 128 };
    const { run, terms } = ask(kind, { manifest: wide, spec, parties: quorum });
    expect(run.runSeconds).toBeGreaterThan(2 * 24 * hour);
    expect(terms.windows.compute).toBe(3 * run.runSeconds);
  });

  it('Z-H2 are refused before money moves where the contract takes none so long', () => {
    const run = { runHours: 2000 };
    expect(() => ask(kind, { parties: quorum, order: { run } })).toThrow(expect.objectContaining({ code: 'JOB_RUN' }));
  });

  it('Z-H2 are refused by a host or prover for which they are too short', () => {
    const hasty = ask(kind, { parties: quorum, order: { run: { runHours: 1e-6 } } });
    const slow = { multiplyAddsPerSecond: 1 };
    expect(answer(hasty, host(kind, slow, [a, b]))).toMatchObject({ code: 'TERMS_COMPUTE' });
    expect(answer(hasty, host(kind, {}, [a, b]))).toBe('accepted');
    const spec = ofAssurance('zk');
    const { terms } = ask(kind, { spec, parties: quorum });
    const offer = { spec, specBytes: encodeJobSpec(spec), terms } as Parameters<typeof checkAsProver>[0];
    const says = (escrow: object) => () => checkAsProver(offer, provider, ProverEscrow.parse(escrow));
    expect(says({})).not.toThrow();
    for (const settings of [slow, { proofSeconds: 4 * hour + 1 }]) {
      expect(says(settings)).toThrow(expect.objectContaining({ code: 'PROVER_JOB' }));
    }
    const token = fromHex(account(9));
    const inToken = { ...offer, terms: { ...terms, token } };
    const pays = (tokens: readonly string[]) => () => checkAsProver(inToken, provider, ProverEscrow.parse({ tokens }));
    expect(pays([])).toThrow(expect.objectContaining({ code: 'PROVER_JOB' }));
    expect(pays([to0x(token)])).not.toThrow();
  });
});

it.each(chainKinds)('take no challenge of a sealed run that has no proofs, on a chain of kind %s', (kind) => {
  const spec: JobSpec = { ...provable.spec, assurance: 'tee' };
  const agreed = ask(kind, { spec, parties: { attestors: [a, b] }, order: { onLapse: 'zk' } });
  const own = host(kind, { acceptProved: true }, [a, b]);
  expect(agreed.terms.bond).toBe(closingBond);
  expect(answer(agreed, own, spec)).toBe('accepted');
  for (const bond of [10n ** 16n, closingBond - 1n]) {
    const within = { ...agreed, terms: { ...agreed.terms, bond } };
    expect(answer(within, own, spec)).toMatchObject({ code: 'HOST_TERMS_BOND' });
  }
  for (const assurance of ['tee', 'tee+zk'] as const) {
    const { terms } = ask(kind, { spec: ofAssurance(assurance), parties: { attestors: [a, b] } });
    expect(terms.bond).toBe(10n ** 16n);
  }
});

it.each(chainKinds)(
  'allow an early stop on a chain of kind %s exactly where the manifest has a rule for one',
  (kind) => {
    const [evaluate, stop] = [
      { batch: 4, every: 4, metrics: ['loss'] },
      { metric: 'loss', minimum: 1, patience: 1 },
    ];
    const parties = { attestors: [a, b] };
    const measured = (rule: object | null): JobSpec => ({
      ...plain.spec,
      manifest: utf8(JSON.stringify({ evaluate, fxt: 2, labelShape: [], steps: 12, stop: rule })),
      validation: { root: new Uint8Array(32), records: 10 },
    });
    const [open, early] = [null, stop].map((rule) => ask(kind, { spec: measured(rule), parties }).terms);
    expect(early!.mode).toBe(open!.mode | JobMode.early);
    expect(open!.mode).toBe(ask(kind, { parties }).terms.mode);
    expect(early!.windows).toEqual(open!.windows);
    termsFit(measured(stop), early!);
  },
);
