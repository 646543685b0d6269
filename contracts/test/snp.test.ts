/** Genuine SEV-SNP evidence verified on chain; skipped where the samples are absent. */
import { X509Certificate, createHash, generateKeyPairSync, sign } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { p384 as p384Curve } from '@noble/curves/nist.js';
import { Contract, ContractFactory, HDNodeWallet, keccak256, ZeroHash, type JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, startAnvil, testMnemonic, type Anvil } from '#libs/settlement';
import issuers from '../snp-issuers.json' with { type: 'json' };

const folder = join(
  process.env['VERITRAIN_VECTORS'] ?? join(import.meta.dirname, '../../../shared/vectors'),
  'amd-snp',
);
const present = existsSync(join(folder, 'manifest.json'));
if (!present) console.warn(`SKIPPED: no genuine SNP samples at ${folder}; set VERITRAIN_VECTORS`);

interface Sample {
  readonly id: string;
  readonly product: string;
  readonly files: { readonly report?: { readonly file: string }; readonly leaf?: { readonly file: string } };
  readonly checks?: Readonly<Record<string, unknown>>;
}
const samples: Sample[] = present ? JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) : [];
const pairs = samples.filter(({ files }) => files.report !== undefined && files.leaf !== undefined);
const read = (file: string) => new Uint8Array(readFileSync(join(folder, file)));

const order384 = p384Curve.Point.Fn.ORDER;
const bytes48 = (value: bigint) => new Uint8Array(Buffer.from(value.toString(16).padStart(96, '0'), 'hex'));

/** The AWS VLEK was valid then; the others are at `later`. */
const genesisTime = Date.UTC(2025, 5, 1) / 1000;
const later = Date.UTC(2026, 6, 1) / 1000;

let anvil: Anvil;
let chain: JsonRpcProvider;
let signer: HDNodeWallet;
let roles: Contract;
let verifier: Contract;
let p384: Contract;

async function create(name: string, ...args: unknown[]): Promise<Contract> {
  const { abi, bytecode } = JSON.parse(readFileSync(new URL(`../abi/${name}.json`, import.meta.url), 'utf8'));
  const contract = await new ContractFactory(abi, bytecode, signer).deploy(...args);
  await contract.waitForDeployment();
  return contract as Contract;
}

beforeAll(async () => {
  anvil = await startAnvil({ genesisTime });
  chain = connect(anvil.url, anvil.chainId, 25);
  signer = HDNodeWallet.fromPhrase(testMnemonic).connect(chain);
  p384 = await create('P384');
  const me = signer.address;
  roles = await create('Roles', me, me, me, me, []);
  verifier = await create('SnpVerifier', await roles.getAddress(), issuers, await p384.getAddress());
});
afterAll(async () => {
  chain?.destroy();
  await anvil?.stop();
});

const anchors = [
  'ask-milan',
  'ask-genoa',
  'ask-genoa-old-20001',
  'ask-turin',
  'asvk-milan',
  'asvk-genoa',
  'asvk-turin',
];
function modulusOf(certificate: X509Certificate): Uint8Array {
  const { n } = certificate.publicKey.export({ format: 'jwk' });
  return new Uint8Array(Buffer.from(n!, 'base64url'));
}

/** The AMD key that signed a leaf, or the Milan ASK when none did. */
function issuerOf(leaf: Uint8Array): Uint8Array {
  const certificates = anchors
    .map((name) => join(folder, 'anchors', `${name}.pem`))
    .filter(existsSync)
    .map((file) => new X509Certificate(readFileSync(file)));
  const child = new X509Certificate(leaf);
  return modulusOf(certificates.find((issuer) => child.verify(issuer.publicKey)) ?? certificates[0]!);
}

function publicKeyOf(leaf: Uint8Array): Uint8Array {
  const spki = new X509Certificate(leaf).publicKey.export({ format: 'der', type: 'spki' });
  return new Uint8Array(spki.subarray(spki.length - 96));
}

/** The contract's error name, or 'accepted'. */
async function verdict(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'accepted';
  } catch (error) {
    const { data, revert } = error as { data?: string; revert?: { name: string } };
    return revert?.name ?? (data ? verifier.interface.parseError(data)?.name : undefined) ?? String(error);
  }
}

async function add(leaf: Uint8Array): Promise<string> {
  const call = verifier.getFunction('addCertificate');
  const found = await verdict(call.staticCall(leaf, issuerOf(leaf)));
  if (found === 'accepted') await (await call.send(leaf, issuerOf(leaf))).wait();
  return found;
}

describe('P-384 on chain', () => {
  const key = () => generateKeyPairSync('ec', { namedCurve: 'secp384r1' });
  const verify = (hash: Uint8Array, signature: Uint8Array, publicKey: Uint8Array): Promise<boolean> =>
    p384.getFunction('verify')(hash, signature, publicKey);

  it('agrees with node on random signatures and on forged ones', async () => {
    for (let i = 0; i < 12; i++) {
      const { publicKey, privateKey } = key();
      const message = Uint8Array.of(i);
      const signature = sign('sha384', message, { key: privateKey, dsaEncoding: 'ieee-p1363' });
      const spki = publicKey.export({ format: 'der', type: 'spki' });
      const point = spki.subarray(spki.length - 96);
      const hash = createHash('sha384').update(message).digest();
      expect(await verify(hash, signature, point)).toBe(true);
      for (const part of [hash, signature, point]) {
        const at = (i * 37) % part.length;
        part[at]! ^= 1 << (i & 7);
        expect(await verify(hash, signature, point)).toBe(false);
        part[at]! ^= 1 << (i & 7);
      }
    }
  });

  it('refuses zero and too large numbers and wrong lengths', async () => {
    const order = order384.toString(16);
    const { publicKey } = key();
    const spki = publicKey.export({ format: 'der', type: 'spki' });
    const point = spki.subarray(spki.length - 96);
    const hash = new Uint8Array(48);
    const number = (hex: string) => Buffer.from(hex.padStart(96, '0'), 'hex');
    for (const [r, s] of [
      ['0', '1'],
      ['1', '0'],
      [order, '1'],
      ['1', order],
    ] as const) {
      expect(await verify(hash, Buffer.concat([number(r), number(s)]), point)).toBe(false);
    }
    expect(await verify(hash.subarray(1), new Uint8Array(96), point)).toBe(false);
    expect(await verify(hash, new Uint8Array(95), point)).toBe(false);
    expect(await verify(hash, new Uint8Array(96).fill(1), new Uint8Array(96))).toBe(false);
  });

  it('multiplies small keys, where additions meet equal and opposite points', async () => {
    for (const d of [1n, 2n, 3n, 15n, 16n, 17n]) {
      for (const secret of [d, order384 - d]) {
        const key = p384Curve.getPublicKey(bytes48(secret), false);
        for (const e of [0n, 1n, d, order384 - d, 0xffffn]) {
          const signature = p384Curve.sign(bytes48(e), bytes48(secret), { prehash: false, lowS: false });
          expect(await verify(bytes48(e), signature, key.subarray(1))).toBe(true);
          expect(await verify(bytes48(e + 1n), signature, key.subarray(1))).toBe(false);
        }
      }
    }
  });
});

describe.skipIf(!present)('genuine SNP evidence', () => {
  it('a VLEK, until it expires', async () => {
    const { files } = pairs.find(({ id }) => id === 'milan-v3-vlek-aws')!;
    const leaf = read(files.leaf!.file);
    const call = () => verdict(verifier.getFunction('verifyReport')(read(files.report!.file), publicKeyOf(leaf)));
    expect(await add(leaf)).toBe('accepted');
    expect(await call()).toBe('accepted');
    await chain.send('evm_setNextBlockTimestamp', [later]);
    await chain.send('evm_mine', []);
    expect(await call()).toBe('SNP_VALIDITY');
  });

  it.each(pairs.filter(({ id }) => !id.includes('vlek')).map((sample) => [sample.id, sample] as const))(
    '%s',
    async (_, { files, checks = {} }) => {
      const leaf = read(files.leaf!.file);
      const report = read(files.report!.file);
      const chainGood = checks['leafChainValid'] === true;
      const added = await add(leaf);
      expect(added === 'accepted').toBe(chainGood);
      if (!chainGood) return;
      const found = await verdict(verifier.getFunction('verifyReport')(report, publicKeyOf(leaf)));
      const good = ['reportSignature', 'hwIdMatchesChipId', 'certTcbEqualsReportedTcb'].every(
        (name) => checks[name] !== false,
      );
      expect([found, good]).toEqual([good ? 'accepted' : found, good]);
      expect(found === 'accepted').toBe(good);
    },
  );

  it('refuses each changed field of a report and each changed part of a certificate', async () => {
    const sample = pairs.find(({ id }) => id === 'milan-v3-vcek')!;
    const leaf = read(sample.files.leaf!.file);
    const report = read(sample.files.report!.file);
    expect(await add(leaf)).toBe('accepted');
    const key = publicKeyOf(leaf);
    const codes: Record<string, string> = {};
    for (const at of [
      0x000, 0x008, 0x030, 0x034, 0x048, 0x050, 0x090, 0x0c0, 0x180, 0x188, 0x1a0, 0x1e0, 0x2a0, 0x2d0, 0x2e8, 0x318,
    ]) {
      const changed = report.slice();
      changed[at]! ^= 0x10;
      codes[at.toString(16)] = await verdict(verifier.getFunction('verifyReport')(changed, key));
    }
    expect(codes).toEqual({
      0: 'SNP_REPORT_VERSION',
      8: 'SNP_REPORT_SIGNATURE',
      30: 'SNP_REPORT_SIGNATURE',
      34: 'SNP_REPORT_SIGNATURE_ALGO',
      48: 'SNP_ENDORSEMENT_KIND',
      50: 'SNP_REPORT_SIGNATURE',
      90: 'SNP_REPORT_SIGNATURE',
      c0: 'SNP_REPORT_SIGNATURE',
      180: 'SNP_CERTIFICATE_TCB',
      188: 'SNP_PRODUCT',
      '1a0': 'SNP_CHIP_ID',
      '1e0': 'SNP_REPORT_SIGNATURE',
      '2a0': 'SNP_REPORT_SIGNATURE',
      '2d0': 'SNP_REPORT_SIGNATURE_PADDING',
      '2e8': 'SNP_REPORT_SIGNATURE',
      318: 'SNP_REPORT_SIGNATURE_PADDING',
    });
    expect(await verdict(verifier.getFunction('verifyReport')(report.subarray(1), key))).toBe('SNP_REPORT_SIZE');
    const strange = key.slice();
    strange[0]! ^= 1;
    expect(await verdict(verifier.getFunction('verifyReport')(report, strange))).toBe('SNP_ENDORSEMENT_MISSING');

    const call = verifier.getFunction('addCertificate');
    const modulus = issuerOf(leaf);
    for (let at = 0; at < leaf.length; at += 61) {
      const changed = leaf.slice();
      changed[at]! ^= 1;
      expect(await verdict(call.staticCall(changed, modulus))).toMatch(/^SNP_/);
    }
    const other = modulus.slice();
    other[511]! ^= 2;
    expect(await verdict(call.staticCall(leaf, other))).toBe('SNP_CHAIN');
  });

  it('refuses a revoked chip', async () => {
    const sample = pairs.find(({ id }) => id === 'genoa-v3-vcek-azure')!;
    const leaf = read(sample.files.leaf!.file);
    const report = read(sample.files.report!.file);
    expect(await add(leaf)).toBe('accepted');
    const snapshot: string = await chain.send('evm_snapshot', []);
    await (await verifier.getFunction('condemn').send(keccak256(report.subarray(0x1a0, 0x1e0)), ZeroHash)).wait();
    expect(await verdict(verifier.getFunction('verifyReport')(report, publicKeyOf(leaf)))).toBe('SNP_REVOKED');
    await chain.send('evm_revert', [snapshot]);
  });

  it('stays within the gas of one transaction', async () => {
    const gas: Record<string, number> = {};
    for (const { id, files, product } of pairs) {
      if (!['milan-v3-vcek', 'genoa-v3-vcek-azure', 'turin-v5-vcek-azure'].includes(id)) continue;
      const leaf = read(files.leaf!.file);
      const fresh = await create('SnpVerifier', await roles.getAddress(), issuers, await p384.getAddress());
      const receipt = await (await fresh.getFunction('addCertificate').send(leaf, issuerOf(leaf))).wait();
      gas[`${product} certificate`] = Number(receipt!.gasUsed);
      const report = read(files.report!.file);
      gas[`${product} report`] = Number(await fresh.getFunction('verifyReport').estimateGas(report, publicKeyOf(leaf)));
    }
    console.log(gas);
    for (const [name, used] of Object.entries(gas)) {
      expect(used).toBeLessThan(name.endsWith('certificate') ? 1_500_000 : 6_500_000);
    }
  });
});
