/** S-H5: a deployment is what its setup says, storage and governance included. */
import { AbiCoder, Interface, keccak256, toBeHex, ZeroHash, type HDNodeWallet, type JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { to0x } from '#attestation/base';
import { dutySelectorOf } from '#attestation/records';
import { walletOf } from '#test/escrow-market';
import { startAnvil, type Anvil } from './anvil.js';
import { connect } from './chain.js';
import { ask } from './ask.js';
import { artefacts, rolesAbi, routerAt } from './contracts.js';
import { create2, create2Address } from './create2.js';
import { deploy, setupOf } from './deploy.js';
import { contractNames, parseDeployment, type Deployment, type Expectation } from './deployment.js';
import { placesOf } from './graph.js';
import { roleCall, sendRoleCall } from './roles.js';
import { submitOptions } from './transaction.js';
import { verifyDeployment } from './verify-deployment.js';
import { splitSelector } from './zk-selector.js';

let anvil: Anvil;
let chain: JsonRpcProvider;
let deployer: HDNodeWallet;
let deployment: Deployment;
/** What a careful reader of a test chain expects. */
let expected: Expectation;

beforeAll(async () => {
  anvil = await startAnvil();
  chain = connect(anvil.url, anvil.chainId, 20);
  deployer = walletOf('deployer').connect(chain);
  deployment = await deploy(deployer, { guardian: walletOf('client').address });
  expected = { ...deployment.setup, governorMayBeAccount: true };
});
afterAll(async () => {
  chain?.destroy();
  await anvil?.stop();
});

const against = async (file: Deployment, reader: Expectation = expected): Promise<string[]> =>
  (await verifyDeployment(file, chain, reader))
    .filter(({ expected: wanted, got }) => wanted.toLowerCase() !== got.toLowerCase())
    .map(({ what }) => what);

describe('S-H5', () => {
  it('S-H5 accepts what was made from the setup that the reader expects, and each address follows from it', async () => {
    expect(await against(deployment)).toEqual([]);
    const places = placesOf(expected);
    expect(contractNames.map((name) => places[name].address)).toEqual(contractNames.map((name) => deployment[name]));
    const again = placesOf({ ...expected, treasury: walletOf('challenger').address });
    expect(contractNames.filter((name) => again[name].address === deployment[name])).toEqual([
      ...['p384', 'randao', 'delivery', 'zkSoftmaxRelation', 'zkSquaredErrorRelation', 'zkStepVerifier'],
      'groth16StepVerifier',
    ]);
  });

  it('enters the verifiers where the governor is the deployer, however its address is written', async () => {
    const governor = deployer.address.toLowerCase();
    const made = await deploy(deployer, { governor, salt: keccak256('0x01') });
    expect(await against(made, { ...made.setup, governorMayBeAccount: true })).toEqual([]);
  });

  it('S-H5 finds a contract whose creation code planted storage beside the genuine code', async () => {
    const mallory = walletOf('challenger').address;
    const args = new Interface(artefacts.settlement.abi).encodeDeploy([settlementArguments()]);
    const genuine = artefacts.settlement.bytecode + args.slice(2);
    const runtime = await chain.getCode(deployment.settlement);
    // SSTORE(credits[mallory][0], 100 ether), then the runtime code as the genuine constructor returns it.
    const planted = plantedCode(runtime, slotOf(mallory), 100n * 10n ** 18n);
    await create2(deployer, anvil.chainId, { salt: ZeroHash, initCode: planted }, submitOptions('local'));
    const bad = create2Address(ZeroHash, planted);
    expect(await chain.getCode(bad)).toBe(runtime);
    expect(BigInt(await chain.getStorage(bad, slotOf(mallory)))).toBe(100n * 10n ** 18n);
    expect(bad).not.toBe(create2Address(ZeroHash, genuine));
    expect(await against({ ...deployment, settlement: bad })).toEqual(['settlement, address']);
  });

  it('S-H5 finds roles, tokens and selectors that changed since, pending and done', async () => {
    const snapshot: unknown = await chain.send('evm_snapshot', []);
    const heir = walletOf('provider');
    await sendRoleCall(deployer, deployment, { call: 'allow', token: heir.address });
    await sendRoleCall(deployer, deployment, { call: 'propose', role: 'governor', to: heir.address });
    await sendRoleCall(deployer, deployment, { call: 'add', selector: '0x11223344', verifier: deployment.keys });
    const guardian = walletOf('client').connect(chain);
    await sendRoleCall(guardian, deployment, { call: 'pause' });
    await sendRoleCall(guardian, deployment, { call: 'tombstone', selector: '0x11223344' });
    await expect(sendRoleCall(guardian, deployment, { call: 'unpause' })).resolves.toMatchObject({});
    await expect(sendRoleCall(guardian, deployment, { call: 'allow', token: heir.address })).rejects.toMatchObject({
      code: 'CALLER',
    });
    expect(await against(deployment)).toEqual([
      ...['roles, governor to be', 'tokens', 'router, 0x11223344', 'router, retired'],
    ]);
    await chain.send('evm_increaseTime', [48 * 3600 + 1]);
    await sendRoleCall(heir.connect(chain), deployment, { call: 'take', role: 'governor' });
    expect(await against(deployment)).toContain('roles, governor');
    const since = {
      ...{ governor: heir.address, tokens: [heir.address], tombstoned: ['0x11223344'] },
      selectors: { '0x11223344': deployment.keys },
    };
    expect(await against(deployment, { ...expected, since })).toEqual([]);
    await chain.send('evm_revert', [snapshot]);
  });

  it('S-H5 finds a governor that is an account, unless the reader says that it may be', async () => {
    const { governorMayBeAccount: _, ...strict } = expected;
    expect(await against(deployment, strict)).toEqual(['governor, code']);
  });

  it('S-H5 finds another factory, another salt, another chain and a set that is not there', async () => {
    expect(await against(deployment, { ...expected, salt: `0x${'22'.repeat(32)}` })).toContain('settlement, address');
    expect(await against({ ...deployment, chainId: 1 }, { ...expected, chainId: 1 })).toContain('chain');
    const absent = setupOf(anvil.chainId, deployer.address, { salt: `0x${'33'.repeat(32)}` });
    const file = {
      ...deployment,
      ...Object.fromEntries(Object.entries(placesOf(absent)).map(([n, p]) => [n, p.address])),
    };
    expect(await against(file, absent)).toEqual(expect.arrayContaining(['settlement, code', 'roles, governor']));
  });

  it('S-H5 takes up a deployment that broke off, and finds its first block', async () => {
    const salt = `0x${'44'.repeat(32)}`;
    const first = placesOf(setupOf(anvil.chainId, deployer.address, { salt }));
    const make = (initCode: string) => create2(deployer, anvil.chainId, { salt, initCode }, submitOptions('local'));
    await make(first.roles.initCode);
    const made = await chain.getBlockNumber();
    await make(first.router.initCode);
    const whole = await deploy(deployer, { salt });
    expect(whole.fromBlock).toBe(made);
    expect(await against(whole, { ...whole.setup, governorMayBeAccount: true })).toEqual([]);
    const count = await chain.getTransactionCount(deployer.address);
    expect(await deploy(deployer, { salt })).toEqual(whole);
    expect(await chain.getTransactionCount(deployer.address)).toBe(count);
  });
});

describe('the verifier in two transactions', () => {
  const selector = to0x(dutySelectorOf({ scheme: 'fxt-zk/1', proving: { profile: 'chain256' } as never }));

  it('is entered under the selector that jobs under its profiles name, and its first half is not', async () => {
    const { zkProofHead, zkSplitVerifier } = deployment.extensions!;
    expect(selector).toBe(to0x(splitSelector));
    expect(await ask(chain, artefacts.zkSplitVerifier, zkSplitVerifier!.address, 'SELECTOR')).toBe(selector);
    expect(await ask(chain, artefacts.zkProofHead, zkProofHead!.address, 'SELECTOR')).toBe(selector);
    expect(await ask(chain, artefacts.zkSplitVerifier, zkSplitVerifier!.address, 'head')).toBe(zkProofHead!.address);
    expect(await routerAt(deployment.router, chain).verifierOf(selector)).toBe(zkSplitVerifier!.address);
  });

  it('is missing in sets from before, whose files stay as they are', async () => {
    const extensions = { splitProofs: false, units: false };
    const made = await deploy(deployer, { salt: keccak256('0x02'), extensions });
    const { splitProofs: _, units: __, ...without } = made.setup.extensions;
    const former = parseDeployment(
      JSON.parse(JSON.stringify({ ...made, setup: { ...made.setup, extensions: without } })),
    );
    expect(former.extensions).toBeUndefined();
    expect(await against(former, { ...former.setup, governorMayBeAccount: true })).toEqual([]);
    expect(await routerAt(former.router, chain).isLive(selector)).toBe(false);
  });
});

it('hands the calls of a role to a timelock as bytes', () => {
  const { to, data, by } = roleCall(deployment, { call: 'propose', role: 'revoker', to: walletOf('broker').address });
  expect([to, by, rolesAbi.parseTransaction({ data })?.name]).toEqual([deployment.roles, 'governor', 'propose']);
});

function settlementArguments() {
  const { roles, router, rules, duties, delivery } = deployment;
  return { roles, router, rules, duties, delivery };
}

/** Slot of credits[who][native coin], `credits` being the first storage of Settlement. */
function slotOf(who: string): string {
  const inner = keccakPair(who, 0n);
  return keccakPair('0x0000000000000000000000000000000000000000', BigInt(inner));
}

function keccakPair(key: string, slot: bigint): string {
  return keccak256(AbiCoder.defaultAbiCoder().encode(['address', 'uint256'], [key, slot]));
}

/** PUSH32 value, PUSH32 slot, SSTORE; then CODECOPY and RETURN of what follows. */
function plantedCode(runtime: string, slot: string, value: bigint): string {
  const size = (runtime.length - 2) / 2;
  const store = `7f${toBeHex(value, 32).slice(2)}7f${slot.slice(2)}55`;
  const [length, offset] = [size.toString(16).padStart(4, '0'), (67 + 12).toString(16).padStart(4, '0')];
  return `0x${store}61${length}8061${offset}5f395ff3fe${runtime.slice(2)}`;
}
