/**
 * Settlement keys registered on SNP evidence that the chain verifies. The evidence is of a simulated vendor whose key only
 * this test's deployment knows; a genuine report goes the same way up to its REPORT_DATA, which names other keys.
 */
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Contract,
  ContractFactory,
  getBytes,
  keccak256,
  Wallet,
  type HDNodeWallet,
  type JsonRpcProvider,
} from 'ethers';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { neutralPolicy } from '#attestation';
import { fromHex, keccak, to0x } from '#attestation/base';
import {
  ciphertextDigest,
  deliveryDigest,
  encodeSessionEvidence,
  JobMode,
  keyCommitment,
  reportData,
  type SessionEvidence,
} from '#attestation/records';
import {
  addressBytes,
  SettlementClient,
  snpPolicyId,
  snpPolicyOf,
  type ChainSnpPolicy,
  type SnpClient,
} from '#libs/settlement';
import {
  buildSnpReport,
  createSimulatedVendor,
  signSnpReport,
  snpReportSigner,
  type SimulatedVendor,
  type SnpReportValues,
} from '#libs/simulated-vendor';
import {
  marketTerms,
  openMarket,
  releaseOf,
  seedProvider,
  sealedRun,
  walletOf,
  type Market,
} from '#test/escrow-market';
import { runCommand } from '#test/run-command';
import issuers from '../snp-issuers.json' with { type: 'json' };

const at = Math.floor(Date.now() / 1000);
const measurement = new Uint8Array(48).fill(7);
const image = keccak256(measurement) as `0x${string}`;
const fill = (n: number, size = 32) => new Uint8Array(size).fill(n);
vi.setConfig({ testTimeout: 300_000 });

let market: Market;
let chain: JsonRpcProvider;
let owner: HDNodeWallet;
let vendor: SimulatedVendor;
let snp: SnpClient;

function modulusOf(certificate: Uint8Array): Uint8Array {
  const { n } = new X509Certificate(certificate).publicKey.export({ format: 'jwk' });
  return new Uint8Array(Buffer.from(n!, 'base64url'));
}

beforeAll(async () => {
  vendor = await createSimulatedVendor({ product: 'Milan', at: at - 3600 });
  const issuer = { modulusHash: keccak256(modulusOf(vendor.ask)), product: 1, vlek: false };
  market = await openMarket({ simulatedIssuers: [issuer] });
  chain = market.chain;
  owner = walletOf('deployer').connect(chain);
  snp = new SettlementClient(market.deployment, owner).snp;
  await snp.addCertificate(vendor.vcek, vendor.ask);
}, 240_000);
afterAll(async () => {
  await market?.stop();
});

/** Of an appraisal policy that demands this image alone. */
async function policyOf(salt: number, change: Partial<ChainSnpPolicy> = {}, allowed = image): Promise<ChainSnpPolicy> {
  const appraisal = { ...neutralPolicy, id: `test policy ${salt}` };
  const { policy } = snpPolicyOf(appraisal, { owner: owner.address, validForSeconds: 1000, nonceBlocks: 100, at });
  const changed = { ...policy, ...change };
  await snp.setMeasurement(changed, allowed, true);
  return changed;
}

/** Evidence that binds this key to the newest block. */
async function attest(key: Uint8Array, values: SnpReportValues = {}): Promise<SessionEvidence> {
  const block = (await chain.getBlock('latest'))!;
  const { chainId, snpRegistry } = market.deployment;
  const provider = addressBytes(walletOf('provider').address);
  const keys = { receiptKey: fill(1), settlementKey: key, transportKey: fill(3), provider };
  const binding = { ...keys, chainId, registry: getBytes(snpRegistry) };
  const nonce = fromHex(block.hash!);
  const chipId = new Uint8Array(64);
  chipId.set(vendor.hwid);
  const { tcb } = vendor;
  const reported = Uint8Array.of(tcb.bootLoader ?? 0, tcb.tee ?? 0, 0, 0, 0, 0, tcb.snp ?? 0, tcb.microcode ?? 0);
  const data = reportData(nonce, binding);
  const report = await signSnpReport(
    buildSnpReport({ REPORT_DATA: data, MEASUREMENT: measurement, CHIP_ID: chipId, REPORTED_TCB: reported, ...values }),
    snpReportSigner(vendor.vcekKey),
  );
  await chain.send('evm_mine', []);
  const cpu = { kind: 'simulated-snp' as const, report, certificates: [vendor.vcek, vendor.ask] };
  return { nonce, binding, cpu, gpus: [], claims: new Uint8Array(), version: 2, proof: new Uint8Array(64) };
}

/** The contract's error name, or 'accepted'. */
const verdict = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'accepted',
    (error: { code?: string }) => error.code ?? String(error),
  );

const register = (policy: ChainSnpPolicy, evidence: SessionEvidence) =>
  verdict(snp.register(policy, evidence, vendor.vcek));

describe('registration on simulated SNP evidence', () => {
  it('registers a key once under each policy, whatever a stranger registers under his own', async () => {
    const [mine, strangers] = [await policyOf(1), await policyOf(2)];
    const evidence = await attest(fill(0x51, 20));
    expect(await register(strangers, evidence)).toBe('accepted');
    expect(await snp.registrationOf(fill(0x51, 20), snpPolicyId(mine))).toBeNull();
    expect(await register(mine, evidence)).toBe('accepted');
    expect(await snp.registrationOf(fill(0x51, 20), snpPolicyId(mine))).toMatchObject({ product: 1 });
    expect(await snp.register(mine, evidence, vendor.vcek)).toBeUndefined();
  });

  it('refuses what the policy does not allow', async () => {
    const cases: [string, Partial<ChainSnpPolicy>, SnpReportValues, string][] = [
      ['debug', {}, { POLICY: 0x30000n | (1n << 19n) }, 'SNP_POLICY_DEBUG_SET'],
      ['migration', {}, { POLICY: 0x30000n | (1n << 18n) }, 'SNP_POLICY_MIGRATION_SET'],
      ['another privilege level', {}, { VMPL: 1 }, 'SNP_VMPL'],
      ['another image', {}, { MEASUREMENT: fill(8, 48) }, 'SNP_MEASUREMENT'],
      ['a guest policy', { guestSet: '0x100000' }, {}, 'SNP_GUEST_POLICY'],
      ['platform information', { platformSet: '0x20' }, {}, 'SNP_PLATFORM_INFO'],
      ['host data', { hostData: `0x${'05'.repeat(32)}` }, {}, 'SNP_HOST_DATA'],
      ['an ID key', { idKey: `0x${'05'.repeat(32)}` }, {}, 'SNP_ID_KEY'],
      [
        'a product that is not admitted',
        { tcbFloors: [`0x${'ff'.repeat(8)}`, `0x${'00'.repeat(8)}`, `0x${'00'.repeat(8)}`] },
        ...([{}, 'SNP_TCB_BELOW_FLOOR'] as const),
      ],
      ['a policy without a term', { validForSeconds: 0 }, {}, 'SNP_POLICY'],
    ];
    for (const [k, [name, change, values, code]] of cases.entries()) {
      const policy = await policyOf(10 + k, change);
      expect([name, await register(policy, await attest(fill(0x60 + k, 20), values))]).toEqual([name, code]);
    }
    const stranger = market.as('client').snp;
    expect(await verdict(stranger.setMeasurement(await policyOf(3), image, false))).toBe('CALLER');
  });

  it('refuses each changed part of the binding, an old block and a changed report', async () => {
    const policy = await policyOf(4);
    const evidence = await attest(fill(0x52, 20));
    for (const change of [
      { receiptKey: fill(9) },
      { settlementKey: fill(9, 20) },
      { transportKey: fill(9) },
      { provider: fill(9, 20) },
    ]) {
      const changed = { ...evidence, binding: { ...evidence.binding, ...change } };
      expect(await register(policy, changed)).toBe('SNP_REPORT_DATA');
    }
    expect(await register(policy, { ...evidence, claims: fill(9) })).toBe('SNP_REPORT_DATA');
    expect(await register(policy, { ...evidence, nonce: fill(9) })).toBe('SNP_NONCE');
    const report = evidence.cpu.report.slice();
    report[0x50]! ^= 1;
    expect(await register(policy, { ...evidence, cpu: { ...evidence.cpu, report } })).toBe('SNP_REPORT_SIGNATURE');
    await market.mine(101);
    expect(await register(policy, evidence)).toBe('SNP_NONCE');
  });
});

describe('S-L12', () => {
  let folder: string;
  beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'veritrain-snp-'))));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const write = (name: string, content: string | Uint8Array): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };

  it('S-L12 brings SNP evidence on chain from the command line, and a job that demands it is sealed and paid', async () => {
    const { deployment, anvil } = market;
    const key = new Wallet(keccak256('0x7465737409')); // a test key
    const policyFile = write('policy.json', JSON.stringify({ ...neutralPolicy, id: 'test policy of S-L12' }));
    const out = join(folder, 'chain-policy.json');
    const plan = await runCommand('policy', 'snp', policyFile, '--owner', owner.address, '--out', out);
    expect(plan.code).toBe(0);
    expect(plan.json['notDemanded']).toContain('reported ≤ committed ≤ current TCB');
    const by = [
      ...['--rpc', anvil.url, '--deployment', write('deployment.json', JSON.stringify(deployment))],
      ...['--key', write('owner.test-key', walletOf('deployer').privateKey)],
    ];
    const { id } = plan.json as { id: `0x${string}` };
    expect((await runCommand('contracts', 'snp-image', '--policy', out, '--image', image, ...by)).code).toBe(0);
    const certificates = ['--leaf', write('vcek.der', vendor.vcek), '--issuer', write('ask.der', vendor.ask)];
    expect(await runCommand('contracts', 'snp-certificate', ...certificates, ...by)).toMatchObject({
      ...{ code: 0, json: { transaction: null } },
    });
    const appraised = (plan.json['policy'] as ChainSnpPolicy).salt;
    const terms = marketTerms({
      ...{ mode: JobMode.tee | JobMode.reveal, dutySelectors: [], segments: 1, initialWeights: fill(1) },
      ...{ policy: fromHex(appraised), snpPolicy: fromHex(id), seedCommitClient: keccak(fill(12)) },
      windows: { challenge: 100, ack: 100, reveal: 10_000 },
    });
    await market.as('client').open(terms);
    await market.as('provider').accept(terms, keccak(seedProvider));
    const release = releaseOf(market, terms, key);
    expect(await verdict(market.as('provider').start(terms, release))).toBe('SNP_UNKNOWN');
    const evidence = await attest(addressBytes(key.address));
    const file = write('evidence.cbor', encodeSessionEvidence(evidence));
    const registered = await runCommand('contracts', 'snp-register', '--policy', out, '--evidence', file, ...by);
    expect(registered).toMatchObject({ code: 0, json: { policy: id, product: 1 } });
    await market.as('provider').start(terms, release);
    const borders = [fill(1), fill(2)];
    const revealKey = fill(0x77);
    const { ciphertextDigest, delivery } = deliveryOf(revealKey);
    await market.as('provider').commit(terms, sealedRun(market, terms, borders, { key, delivery }));
    await market.pass(101);
    await market.as('provider').finalize(terms, { ciphertextDigest, key: revealKey });
    expect((await market.as('client').job(terms)).state).toBe('Settled');
  });

  it('S-L12 condemns a chip from the command line: no key of it is bound any more', async () => {
    const { deployment, anvil } = market;
    const chip = new Uint8Array(64);
    chip.set(vendor.hwid);
    const policy = await policyOf(30);
    const by = [
      ...['--rpc', anvil.url, '--deployment', write('deployment.json', JSON.stringify(deployment))],
      ...['--key', write('owner.test-key', walletOf('deployer').privateKey)],
    ];
    const what = [keccak256(chip), '--reason', `0x${'01'.repeat(32)}`];
    expect((await runCommand('contracts', 'roles', 'condemn', ...what, ...by)).code).toBe(0);
    expect(await register(policy, await attest(fill(0x55, 20)))).toBe('SNP_REVOKED');
  });
});

const folder = join(
  process.env['VERITRAIN_VECTORS'] ?? join(import.meta.dirname, '../../../shared/vectors'),
  'amd-snp',
);
const present = existsSync(join(folder, 'manifest.json'));
if (!present) console.warn(`SKIPPED: no genuine SNP samples at ${folder}; set VERITRAIN_VECTORS`);

describe.skipIf(!present)('genuine SNP reports', () => {
  it.each(['milan-v3-vcek', 'genoa-v3-vcek-azure'])('%s is refused for the keys that it names alone', async (id) => {
    interface Sample {
      readonly id: string;
      readonly files: { readonly report: { readonly file: string }; readonly leaf: { readonly file: string } };
    }
    const samples = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Sample[];
    const { files } = samples.find((sample) => sample.id === id)!;
    const read = (file: string) => new Uint8Array(readFileSync(join(folder, file)));
    const [leaf, report] = [read(files.leaf.file), read(files.report.file)];
    const amd = await create('SnpVerifier', market.deployment.roles, issuers, market.deployment.p384);
    const own = await create('SnpRegistry', await amd.getAddress());
    const anchors = ['ask-milan', 'ask-genoa', 'ask-genoa-old-20001'].map((name) =>
      join(folder, 'anchors', `${name}.pem`),
    );
    const issuer = anchors
      .filter(existsSync)
      .map((file) => new X509Certificate(readFileSync(file)))
      .find((candidate) => new X509Certificate(leaf).verify(candidate.publicKey))!;
    await (await amd.getFunction('addCertificate').send(leaf, modulusOf(new Uint8Array(issuer.raw)))).wait();
    const policy = await policyOf(40, { allowVlek: true });
    const { binding, nonce } = await attest(fill(0x53, 20));
    const { number: nonceBlock } = (await chain.getBlock(to0x(nonce)))!;
    const bound = { ...binding, settlementKey: walletOf('broker').address, provider: walletOf('provider').address };
    const named = { ...bound, nonceBlock, gpuDigest: fill(0), claimsDigest: fill(0) };
    const call = () => verdictOf(own, own.getFunction('register').staticCall(policy, named, report, publicKeyOf(leaf)));
    expect(await call()).toBe('SNP_MEASUREMENT');
    const launched = keccak256(report.subarray(0x90, 0xc0));
    await (await own.getFunction('setMeasurement').send(policy, launched, true)).wait();
    expect(await call()).toBe('SNP_REPORT_DATA');
  });
});

async function create(name: string, ...args: unknown[]): Promise<Contract> {
  const { abi, bytecode } = JSON.parse(readFileSync(new URL(`../abi/${name}.json`, import.meta.url), 'utf8'));
  const contract = await new ContractFactory(abi, bytecode, owner).deploy(...args);
  await contract.waitForDeployment();
  return contract as Contract;
}

function publicKeyOf(leaf: Uint8Array): Uint8Array {
  const spki = new X509Certificate(leaf).publicKey.export({ format: 'der', type: 'spki' });
  return new Uint8Array(spki.subarray(spki.length - 96));
}

async function verdictOf(contract: Contract, call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'accepted';
  } catch (error) {
    const { data, revert } = error as { data?: string; revert?: { name: string } };
    return revert?.name ?? (data && contract.interface.parseError(data)?.name) ?? String(error);
  }
}

function deliveryOf(revealKey: Uint8Array) {
  const digest = ciphertextDigest(fill(5));
  return { ciphertextDigest: digest, delivery: deliveryDigest(digest, keyCommitment(revealKey)) };
}
