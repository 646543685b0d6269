/** The fallback of a draw on a real chain: RANDAO mix and hash of genuine headers. contracts/SPEC.md §8. */
import { readFileSync } from 'node:fs';
import {
  Contract,
  ContractFactory,
  encodeRlp,
  getBytes,
  HDNodeWallet,
  keccak256,
  toBeHex,
  type JsonRpcProvider,
} from 'ethers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect, startAnvil, testMnemonic, type Anvil } from '#libs/settlement';

let anvil: Anvil;
let chain: JsonRpcProvider;
let randao: Contract;

beforeAll(async () => {
  anvil = await startAnvil({ hardfork: 'osaka' });
  chain = connect(anvil.url, anvil.chainId, 25);
  const signer = HDNodeWallet.fromPhrase(testMnemonic).connect(chain);
  const { abi, bytecode } = JSON.parse(readFileSync(new URL('../abi/BlockRandao.json', import.meta.url), 'utf8'));
  randao = (await new ContractFactory(abi, bytecode, signer).deploy()) as Contract;
  await randao.waitForDeployment();
});
afterAll(async () => {
  chain?.destroy();
  await anvil?.stop();
});

/** Fields of an Osaka header in order; quantities are without leading zeros. */
const fields = [
  ...['parentHash', 'sha3Uncles', 'beneficiary', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom'],
  ...['difficulty#', 'number#', 'gasLimit#', 'gasUsed#', 'timestamp#', 'extraData', 'mixHash', 'nonce'],
  ...['baseFeePerGas#', 'withdrawalsRoot', 'blobGasUsed#', 'excessBlobGas#', 'parentBeaconBlockRoot', 'requestsHash'],
];

function headerOf(block: Readonly<Record<string, string>>): string {
  // The one account in a header; nodes call it by another name.
  const beneficiary = Object.values(block).find((value) => /^0x[0-9a-f]{40}$/i.test(value))!;
  const values = fields.map((field) => {
    const value = { ...block, beneficiary }[field.replace('#', '')]!;
    if (!field.endsWith('#')) return value;
    return BigInt(value) === 0n ? '0x' : toBeHex(BigInt(value));
  });
  return encodeRlp(values);
}

async function blockAt(number: number): Promise<Record<string, string>> {
  return (await chain.send('eth_getBlockByNumber', [`0x${number.toString(16)}`, false])) as Record<string, string>;
}

async function refusal(number: number, header: string): Promise<string | undefined> {
  try {
    await randao.getFunction('mixOf')(number, header);
    return undefined;
  } catch (error) {
    return (error as { revert?: { name: string } }).revert?.name ?? String(error);
  }
}

it('reads the mix of genuine headers, near and older than 256 blocks', async () => {
  await chain.send('anvil_mine', ['0x190']);
  const latest = await chain.getBlockNumber();
  for (const number of [latest - 1, latest - 200, latest - 300]) {
    const block = await blockAt(number);
    const header = headerOf(block);
    expect(keccak256(header)).toBe(block['hash']);
    expect(await randao.getFunction('mixOf')(number, header)).toBe(block['mixHash']);
  }
});

it('refuses other headers, changed bytes, other numbers and blocks to come', async () => {
  const latest = await chain.getBlockNumber();
  const header = headerOf(await blockAt(latest - 5));
  expect(await refusal(latest - 6, header)).toBe('DRAW_HEADER');
  expect(await refusal(latest + 1, header)).toBe('DRAW_HEADER');
  expect(await refusal(latest - 5, '0x')).toBe('DRAW_HEADER');
  const bytes = getBytes(header);
  for (let place = 0; place < bytes.length; place += 53) {
    const changed = bytes.slice();
    changed[place]! ^= 1;
    expect(await refusal(latest - 5, `0x${Buffer.from(changed).toString('hex')}`)).toBe('DRAW_HEADER');
  }
});
