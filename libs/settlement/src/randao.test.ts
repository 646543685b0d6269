/** A chain whose headers carry no randomness lets a provider choose its sample where the client stays silent. */
import { decodeRlp, encodeRlp, keccak256, toBeHex, type JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { walletOf } from '#test/escrow-market';
import { startFaultyRpc, type FaultyRpc } from '#test/faulty-rpc';
import { startAnvil, type Anvil } from './anvil.js';
import { connect } from './chain.js';
import { randaoAt } from './contracts.js';
import { deploy, setupOf } from './deploy.js';
import { placesOf } from './graph.js';
import { headerOf } from './header.js';
import { checkRandao } from './randao.js';
import { verifyDeployment } from './verify-deployment.js';

const blocks = 20;
const mixPlace = 13;
let anvil: Anvil;
let chain: JsonRpcProvider;
let proxy: FaultyRpc;
let asked: JsonRpcProvider;
beforeAll(async () => {
  anvil = await startAnvil();
  proxy = await startFaultyRpc(anvil.url);
  chain = connect(anvil.url, anvil.chainId, 20);
  asked = connect(proxy.url, anvil.chainId, 20);
});
beforeEach(() => {
  proxy.speak = (_, pass) => pass();
});
afterAll(async () => {
  asked?.destroy();
  chain?.destroy();
  await proxy?.stop();
  await anvil?.stop();
});

/** The same chain, its headers with other mixes and the hashes that they then have. */
function withMixes(mixOf: (number: number) => bigint): void {
  proxy.speak = async (call, pass) => {
    const answer = await pass();
    const [number] = call.params;
    if (call.method !== 'eth_getBlockByNumber' || !number?.startsWith('0x')) return answer;
    const header = [...(decodeRlp(await headerOf(chain, Number(number))) as string[])];
    const mixHash = toBeHex(mixOf(Number(number)), 32);
    header[mixPlace] = mixHash;
    return { result: { ...(answer.result as object), mixHash, hash: keccak256(encodeRlp(header)) } };
  };
}

it('is not shown by a chain without blocks', async () => {
  await expect(checkRandao(chain)).rejects.toMatchObject({ code: 'CHAIN_RANDAO', family: 'configuration' });
});

it('keeps `deploy` from allowing samples on a chain of one mix', async () => {
  withMixes(() => 7n);
  const deployer = walletOf('deployer');
  await expect(deploy(deployer.connect(asked))).rejects.toMatchObject({ code: 'CHAIN_RANDAO' });
  const { randao } = placesOf(setupOf(anvil.chainId, deployer.address, {}));
  const isTested = (): Promise<unknown> => randaoAt(randao.address, chain).getFunction('isTested')();
  expect(await isTested()).toBe(false);
  await deploy(deployer.connect(chain));
  expect(await isTested()).toBe(true);
});

it('is seen in genuine headers, also where a chain repeats a mix for some blocks', async () => {
  await chain.send('anvil_mine', [toBeHex(blocks)]);
  await checkRandao(chain);
  withMixes((number) => BigInt(Math.ceil(number / 12)));
  await checkRandao(asked);
});

it.each<[string, (number: number) => bigint]>([
  ['of zero', () => 0n],
  ['of zero among others', (number) => BigInt(number % 2)],
  ['of a constant', () => 7n],
])('is denied by a mix %s', async (_, mixOf) => {
  withMixes(mixOf);
  await expect(checkRandao(asked)).rejects.toMatchObject({ code: 'CHAIN_RANDAO' });
});

it('is among what a reader of a deployment is told', async () => {
  const deployment = await deploy(walletOf('deployer').connect(chain));
  const found = async () => {
    const findings = await verifyDeployment(deployment, asked);
    return findings.filter(({ what, expected, got }) => what.startsWith('randao, ') && expected !== got);
  };
  expect(await found()).toEqual([]);
  withMixes(() => 7n);
  expect(await found()).toEqual([
    {
      what: 'randao, mixes',
      expected: 'different, none zero',
      got: expect.stringContaining('in every block') as string,
    },
  ]);
});
