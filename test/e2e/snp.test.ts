/** Evidence that the chain itself verifies, on real processes: policies by the command line, registrations by the host. */
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromHex, to0x, toHex } from '#attestation/base';
import { escrowIdOf } from '#attestation/records';
import { openChain, type ClientChain } from '#libs/client';
import { settlementAbi, type ChainSnpPolicy, type Hex, type SnpPolicyPlan } from '#libs/settlement';
import { parseSimulatedVendor, type SimulatedVendor } from '#libs/simulated-vendor';
import { byClient, leave, order, settle, type Ordered } from '#test/by-command';
import { reward, setHost, startTestSystem, vendorFile, type TestSystem } from '#test/embedded';
import { seen, type Watched } from '#test/outcome';
import { runCommand } from '#test/run-command';
import { startAgain } from '#test/start-again';
import { openVendor } from '../../apps/cli/src/system/site.js';

interface OwnPolicy {
  readonly file: string;
  readonly id: Hex;
  readonly policy: ChainSnpPolicy;
}

let test: TestSystem;
let chain: ClientChain;
let rpc: JsonRpcProvider;
let watched: Watched;
let fitting: OwnPolicy;
let unfitting: Readonly<Record<string, OwnPolicy>>;
let unknown: OwnPolicy;
/** Seconds after its registration within which a key may be bound. */
const validFor = 900;

beforeAll(async () => {
  test = await startTestSystem({}, { enclave: false });
  chain = openChain(test.profile);
  rpc = new JsonRpcProvider(test.profile.chain.rpcUrl, undefined, { cacheTimeout: -1 });
  watched = { test, chain, rpc };
  fitting = await policyOf('fitting', ['--valid-for', `${validFor}`]);
  unfitting = {
    'for another product': await policyOf('genoa', ['--product', 'Genoa']),
    'whose owner did not allow the image': await policyOf('imageless', ['--valid-for', '901'], false),
  };
  unknown = await policyOf('unknown', ['--valid-for', '902']);
  setHost(test, { snpPolicies: [fitting, ...Object.values(unfitting)].map(({ file }) => file) });
  await test.system.start('host-agent');
}, 300_000);
afterAll(async () => {
  chain?.close();
  rpc?.destroy();
  await test?.stop();
});

/** `veritrain policy snp` of the client, and `contracts snp-image` for what the plan names. */
async function policyOf(name: string, options: readonly string[], isAllowed = true): Promise<OwnPolicy> {
  const file = join(test.folder, `${name}.snp.json`);
  const owner = await chain.escrow.signer.getAddress();
  const planned = await runCommand('policy', 'snp', test.profile.policy, '--owner', owner, '--out', file, ...options);
  expect(planned.code, JSON.stringify(planned.json)).toBe(0);
  const { id, policy, measurements } = planned.json as unknown as SnpPolicyPlan;
  expect(measurements).toHaveLength(1);
  if (isAllowed) {
    const allowed = await byClient(test, 'contracts', 'snp-image', '--policy', file, '--image', measurements[0]!);
    expect(allowed).toMatchObject({ code: 0, json: { policy: id, allowed: true } });
  }
  return { file, id, policy };
}

const orderUnder = (name: string, { id }: OwnPolicy): Promise<Ordered> => order(test, name, '--snp-policy', id);

/** Settlement keys that were bound to a job. */
async function boundKeys({ terms }: Ordered): Promise<readonly string[]> {
  const { settlement } = test.profile.chain.deployment;
  const topics = [settlementAbi.getEvent('KeyBound')!.topicHash, to0x(escrowIdOf(terms))];
  const logs = await rpc.getLogs({ address: settlement, topics, fromBlock: 0 });
  return logs.map((log) => `0x${log.topics[2]!.slice(26)}`);
}

function certificatesOf({ vcek, ask }: SimulatedVendor): string[] {
  const write = (name: string, bytes: Uint8Array): string => {
    writeFileSync(join(test.folder, name), bytes);
    return join(test.folder, name);
  };
  return ['--leaf', write('vcek.der', vcek), '--issuer', write('ask.der', ask)];
}

describe('S-L12 evidence on chain', () => {
  it('S-H4 S-L12 the host has certificate and report verified there, and no key is bound without; the job is paid', async () => {
    const job = await orderUnder('fitting', fitting);
    const bundle = await settle(watched, job);
    expect(toHex(job.terms.snpPolicy)).toBe(fitting.id.slice(2));
    const [key, ...others] = await boundKeys(job);
    expect(others).toEqual([]);
    const registered = await chain.escrow.snp.registrationOf(fromHex(key!), fitting.id);
    expect(registered).toMatchObject({ product: 1 });
    expect(registered!.provider.toLowerCase()).toBe(test.system.provider);
    expect(bundle.settlement.transactions.map(({ call }) => call).slice(0, 4)).toEqual([
      ...['addCertificate', 'register', 'accept', 'start'],
    ]);
    const { settlement } = test.profile.chain.deployment;
    expect(await startAgain(rpc, settlement, job.terms)).toBe('accepted');
    expect(await startAgain(rpc, settlement, job.terms, { later: validFor + 60 })).toBe('SNP_EXPIRED');
    const vendor = parseSimulatedVendor(readFileSync(vendorFile, 'utf8'));
    const again = await byClient(test, 'contracts', 'snp-certificate', ...certificatesOf(vendor));
    expect(again).toMatchObject({ code: 0, json: { transaction: null } });
  }, 240_000);

  it.each([
    ['for another product', 'SNP_TCB_BELOW_FLOOR'],
    ['whose owner did not allow the image', 'SNP_MEASUREMENT'],
  ])(
    'S-H4 S-L12 under a policy %s nothing is bound or staked, and the client has its money back',
    async (what, code) => {
      const policy = unfitting[what]!;
      const job = await orderUnder(code, policy);
      expect(await test.ended(job.jobId)).toMatchObject({ state: 'failed', code });
      expect([await seen(watched, 'JobAccepted', job.terms), await boundKeys(job)]).toEqual([0, []]);
      expect(await leave(test, job)).toBe(reward);
    },
    240_000,
  );

  it('S-H4 S-L12 a policy that the host does not know is refused before it asks for a key', async () => {
    const job = await orderUnder('unknown', unknown);
    expect(await test.ended(job.jobId)).toMatchObject({ state: 'refused', code: 'HOST_TERMS_SNP' });
    expect(await leave(test, job)).toBe(reward);
  }, 240_000);

  it('S-L12 the deployment takes the vendor that it was made for, and no other', async () => {
    const { deployment } = test.profile.chain;
    const expectation = join(test.folder, 'expectation.json');
    const roles = ['governor', 'guardian', 'treasury', 'revoker'] as const;
    const named = roles.flatMap((role) => [`--${role}`, deployment.setup[role]]);
    const vendor = ['--simulated-vendor', vendorFile];
    const planned = await runCommand(
      ...['contracts', 'plan', '--chain-id', `${deployment.chainId}`, '--out', expectation, ...named, ...vendor],
    );
    expect(planned).toMatchObject({ code: 0, json: { addresses: { snpVerifier: deployment.snpVerifier } } });
    const abroad = await runCommand('contracts', 'plan', '--chain-id', '1', '--out', expectation, ...named, ...vendor);
    expect(abroad).toMatchObject({ json: { error: { code: 'CONTRACTS_SIMULATED' } } });
    const second = await openVendor(join(tmpdir(), 'veritrain-test-simulated-vendor-2.json'));
    const stranger = await byClient(test, 'contracts', 'snp-certificate', ...certificatesOf(second));
    expect(stranger).toMatchObject({ json: { error: { code: 'SNP_CHAIN' } } });
  }, 240_000);
});
