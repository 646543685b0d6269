/**
 * Enclave keys registered on SNP evidence that the chain verifies. The evidence is of a simulated vendor whose key only
 * this test's verifier knows; a genuine report goes the same way up to its REPORT_DATA, which names other keys.
 */
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  Contract,
  ContractFactory,
  getBytes,
  HDNodeWallet,
  keccak256,
  Wallet,
  ZeroHash,
  type JsonRpcProvider,
} from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromHex, registryDomainSeparator, reportData, toHex } from '#attestation';
import { connect, startAnvil, testMnemonic, type Anvil } from '#libs/settlement';
import {
  buildSnpReport,
  createSimulatedVendor,
  signSnpReport,
  snpReportSigner,
  type SimulatedVendor,
  type SnpReportValues,
} from '#libs/simulated-vendor';
import issuers from '../snp-issuers.json' with { type: 'json' };

const at = Date.UTC(2026, 6, 1) / 1000;
const measurement = new Uint8Array(48).fill(7);
const image = keccak256(measurement);
const fill = (n: number, size = 32) => new Uint8Array(size).fill(n);
const hex = (bytes: Uint8Array) => `0x${toHex(bytes)}`;
const zeroFloors = ['0x0000000000000000', '0x0000000000000000', '0x0000000000000000'];

let anvil: Anvil;
let chain: JsonRpcProvider;
let signer: HDNodeWallet;
let vendor: SimulatedVendor;
let registry: Contract;
let verifier: Contract;
let registrar: Contract;
let p384: string;

async function create(name: string, ...args: unknown[]): Promise<Contract> {
  const { abi, bytecode } = JSON.parse(readFileSync(new URL(`../abi/${name}.json`, import.meta.url), 'utf8'));
  const contract = await new ContractFactory(abi, bytecode, signer).deploy(...args);
  await contract.waitForDeployment();
  return contract as Contract;
}

function modulusOf(certificate: Uint8Array): Uint8Array {
  const { n } = new X509Certificate(certificate).publicKey.export({ format: 'jwk' });
  return new Uint8Array(Buffer.from(n!, 'base64url'));
}

function publicKeyOf(leaf: Uint8Array): Uint8Array {
  const spki = new X509Certificate(leaf).publicKey.export({ format: 'der', type: 'spki' });
  return new Uint8Array(spki.subarray(spki.length - 96));
}

beforeAll(async () => {
  anvil = await startAnvil({ genesisTime: at });
  chain = connect(anvil.url, anvil.chainId, 25);
  signer = HDNodeWallet.fromPhrase(testMnemonic).connect(chain);
  vendor = await createSimulatedVendor({ product: 'Milan', at: at - 3600 });
  p384 = await (await create('P384')).getAddress();
  registry = await create('EnclaveRegistry', signer.address, [signer.address], 1);
  const simulated = [{ modulusHash: keccak256(modulusOf(vendor.ask)), product: 1, vlek: false }];
  verifier = await create('SnpVerifier', signer.address, simulated, p384);
  registrar = await create('SnpRegistrar', await registry.getAddress(), await verifier.getAddress());
  await (await registry.getFunction('setRegistrar').send(await registrar.getAddress())).wait();
  await (await verifier.getFunction('addCertificate').send(vendor.vcek, modulusOf(vendor.ask))).wait();
}, 120_000);
afterAll(async () => {
  chain?.destroy();
  await anvil?.stop();
});

interface Policy {
  readonly owner: string;
  readonly salt: string;
  readonly tcbFloors: readonly string[];
  readonly validForSeconds: number;
}

async function policyOf(salt: number, change: Partial<Policy> = {}, allowed = image): Promise<Policy> {
  const policy = {
    owner: signer.address,
    salt: hex(fill(salt)),
    tcbFloors: zeroFloors,
    validForSeconds: 1000,
    ...change,
  };
  await (await registrar.getFunction('setMeasurement').send(policy, allowed, true)).wait();
  return policy;
}

const policyId = (policy: Policy): Promise<string> => registrar.getFunction('policyId')(policy);

interface Binding {
  readonly receiptKey: string;
  readonly settlementKey: string;
  readonly transportKey: string;
  readonly provider: string;
  readonly nonceBlock: number;
  readonly gpuDigest: string;
  readonly claimsDigest: string;
}

/** A report that binds these keys to the newest block. */
async function attest(key: number, values: SnpReportValues = {}): Promise<{ binding: Binding; report: Uint8Array }> {
  const block = (await chain.getBlock('latest'))!;
  const keys = { receiptKey: fill(1), settlementKey: fill(key, 20), transportKey: fill(3), provider: fill(4, 20) };
  const data = reportData(fromHex(block.hash!), {
    ...keys,
    chainId: anvil.chainId,
    registry: getBytes(await registry.getAddress()),
  });
  const chipId = new Uint8Array(64);
  chipId.set(vendor.hwid);
  const { tcb } = vendor;
  const reported = Uint8Array.of(tcb.bootLoader ?? 0, tcb.tee ?? 0, 0, 0, 0, 0, tcb.snp ?? 0, tcb.microcode ?? 0);
  const report = await signSnpReport(
    buildSnpReport({ REPORT_DATA: data, MEASUREMENT: measurement, CHIP_ID: chipId, REPORTED_TCB: reported, ...values }),
    snpReportSigner(vendor.vcekKey),
  );
  await chain.send('evm_mine', []);
  const binding = {
    receiptKey: hex(keys.receiptKey),
    settlementKey: hex(keys.settlementKey),
    transportKey: hex(keys.transportKey),
    provider: hex(keys.provider),
    nonceBlock: block.number,
    gpuDigest: ZeroHash,
    claimsDigest: ZeroHash,
  };
  return { binding, report };
}

/** The contract's error name, or 'accepted'. */
async function verdict(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'accepted';
  } catch (error) {
    const { data, revert } = error as { data?: string; revert?: { name: string } };
    const named = [registrar, verifier, registry].map((contract) => data && contract.interface.parseError(data)?.name);
    return revert?.name ?? named.find(Boolean) ?? String(error);
  }
}

const register = (policy: Policy, binding: Binding, report: Uint8Array, key = publicKeyOf(vendor.vcek)) =>
  verdict(registrar.getFunction('register').staticCall(policy, binding, report, key));

describe('registration on simulated SNP evidence', () => {
  it('makes the key live in tier 2 until its policy ends it, and in tier 3 with the quorum', async () => {
    const policy = await policyOf(1);
    const id = await policyId(policy);
    const { binding, report } = await attest(0x51);
    const live = (tier: number): Promise<bigint> =>
      registry.getFunction('requireLive')(binding.settlementKey, id, binding.provider, tier);
    const send = registrar.getFunction('register');
    const receipt = await (await send.send(policy, binding, report, publicKeyOf(vendor.vcek))).wait();
    expect(Number(receipt!.gasUsed)).toBeLessThan(6_500_000);
    expect(await live(2)).toBe(2n);
    expect(await verdict(live(3))).toBe('ENCLAVE_TIER');
    expect(await register(policy, binding, report)).toBe('EVIDENCE_USED');

    const until = at + 100_000;
    const domain = {
      name: 'EnclaveRegistry',
      version: '1',
      chainId: anvil.chainId,
      verifyingContract: registry.target as string,
    };
    expect(
      hex(registryDomainSeparator({ chainId: anvil.chainId, verifyingContract: getBytes(domain.verifyingContract) })),
    ).toBe(await registry.getFunction('domainSeparator')());
    const appraisal = {
      key: binding.settlementKey,
      policy: id,
      provider: binding.provider,
      evidence: hex(fill(9)),
      notAfter: until,
    };
    const types = {
      Appraisal: [
        { name: 'key', type: 'address' },
        { name: 'policy', type: 'bytes32' },
        { name: 'provider', type: 'address' },
        { name: 'evidence', type: 'bytes32' },
        { name: 'notAfter', type: 'uint40' },
      ],
    };
    const signature = await new Wallet(signer.privateKey).signTypedData(domain, types, appraisal);
    await (await registry.getFunction('register').send(appraisal, [signature])).wait();
    expect(await live(3)).toBe(3n);

    const disallow = await registrar.getFunction('setMeasurement').send(policy, image, false);
    await disallow.wait();
    expect(await verdict(live(1))).toBe('ENCLAVE_MEASUREMENT');
    await (await registrar.getFunction('setMeasurement').send(policy, image, true)).wait();
    await chain.send('evm_increaseTime', [1001]);
    await chain.send('evm_mine', []);
    expect(await live(1)).toBe(1n);
    expect(await verdict(live(2))).toBe('ENCLAVE_TIER');
  });

  it('refuses what the policy does not allow', async () => {
    const cases: [string, Partial<Policy>, SnpReportValues, string][] = [
      ['debug', {}, { POLICY: 0x30000n | (1n << 19n) }, 'SNP_POLICY_DEBUG_SET'],
      ['migration', {}, { POLICY: 0x30000n | (1n << 18n) }, 'SNP_POLICY_MIGRATION_SET'],
      ['another privilege level', {}, { VMPL: 1 }, 'SNP_VMPL'],
      ['another image', {}, { MEASUREMENT: fill(8, 48) }, 'SNP_MEASUREMENT'],
      ['an old TCB', { tcbFloors: ['0x04000000000018dc', ...zeroFloors.slice(1)] }, {}, 'SNP_TCB_BELOW_FLOOR'],
      ['a policy without a term', { validForSeconds: 0 }, {}, 'SNP_POLICY'],
    ];
    for (const [k, [name, change, values, code]] of cases.entries()) {
      const policy = await policyOf(10 + k, change);
      const { binding, report } = await attest(0x60 + k, values);
      expect([name, await register(policy, binding, report)]).toEqual([name, code]);
    }
    const own = await policyOf(2);
    const { binding, report } = await attest(0x70);
    expect(await register({ ...own, salt: hex(fill(3)) }, binding, report)).toBe('SNP_MEASUREMENT');
    const stranger = new Wallet(`0x${'77'.repeat(32)}`);
    expect(
      await verdict(
        registrar.getFunction('setMeasurement').staticCall({ ...own, owner: stranger.address }, image, true),
      ),
    ).toBe('CALLER');
  });

  it('refuses each changed part of the binding', async () => {
    const policy = await policyOf(4);
    const { binding, report } = await attest(0x52);
    expect(await register(policy, binding, report)).toBe('accepted');
    for (const change of [
      { receiptKey: hex(fill(9)) },
      { settlementKey: hex(fill(9, 20)) },
      { transportKey: hex(fill(9)) },
      { provider: hex(fill(9, 20)) },
      { gpuDigest: hex(fill(9)) },
      { claimsDigest: hex(fill(9)) },
      { nonceBlock: binding.nonceBlock - 1 },
    ]) {
      expect(await register(policy, { ...binding, ...change }, report)).toBe('SNP_REPORT_DATA');
    }
    expect(await register(policy, { ...binding, nonceBlock: binding.nonceBlock + 1000 }, report)).toBe('SNP_NONCE');
    const changed = report.slice();
    changed[0x50]! ^= 1;
    expect(await register(policy, binding, changed)).toBe('SNP_REPORT_SIGNATURE');
    await (await verifier.getFunction('revokeEndorsement').send(keccak256(report.subarray(0x1a0, 0x1e0)))).wait();
    expect(await register(policy, binding, report)).toBe('SNP_REVOKED');
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
    const amd = await create('SnpVerifier', signer.address, issuers, p384);
    const own = await create('SnpRegistrar', await registry.getAddress(), await amd.getAddress());
    const anchors = ['ask-milan', 'ask-genoa', 'ask-genoa-old-20001'].map((name) =>
      join(folder, 'anchors', `${name}.pem`),
    );
    const issuer = anchors
      .filter(existsSync)
      .map((file) => new X509Certificate(readFileSync(file)))
      .find((candidate) => new X509Certificate(leaf).verify(candidate.publicKey))!;
    await (await amd.getFunction('addCertificate').send(leaf, modulusOf(new Uint8Array(issuer.raw)))).wait();
    const policy = { owner: signer.address, salt: ZeroHash, tcbFloors: zeroFloors, validForSeconds: 1000 };
    const { binding } = await attest(0x53);
    const call = () => verdict(own.getFunction('register').staticCall(policy, binding, report, publicKeyOf(leaf)));
    expect(await call()).toBe('SNP_MEASUREMENT');
    const launched = keccak256(report.subarray(0x90, 0xc0));
    await (await own.getFunction('setMeasurement').send(policy, launched, true)).wait();
    expect(await call()).toBe('SNP_REPORT_DATA');
  });
});
