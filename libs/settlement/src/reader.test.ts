/** The escrow on a local chain as a relying party sees it. */
import { HDNodeWallet, type JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Terms } from '#attestation/records';
import { teeTerms } from '#test/escrow-terms';
import { startAnvil, testMnemonic, type Anvil } from './anvil.js';
import { addressBytes, connect } from './chain.js';
import { SettlementClient } from './client.js';
import { deploy } from './deploy.js';
import type { Deployment } from './deployment.js';
import { openEscrowReader, type EscrowReader } from './reader.js';

let anvil: Anvil;
let chain: JsonRpcProvider;
let deployment: Deployment;
const readers: EscrowReader[] = [];
const wallet = (index: number) => HDNodeWallet.fromPhrase(testMnemonic, undefined, `m/44'/60'/0'/0/${index}`);
const word = (n: number) => new Uint8Array(32).fill(n);
const account = (index: number) => addressBytes(wallet(index).address);

beforeAll(async () => {
  anvil = await startAnvil();
  chain = connect(anvil.url, anvil.chainId, 25);
  deployment = await deploy(wallet(0).connect(chain));
});
afterAll(async () => {
  for (const reader of readers) reader.close();
  chain?.destroy();
  await anvil?.stop();
});

function reader(confirmations: number, change: { rpcUrl?: string } = {}): EscrowReader {
  const { chainId } = anvil;
  const contract = addressBytes(deployment.settlement);
  const made = openEscrowReader({ rpcUrl: anvil.url, chainId, contract, confirmations, ...change });
  readers.push(made);
  return made;
}

const terms = (specDigest: Uint8Array): Terms =>
  teeTerms({
    ...{ client: account(1), provider: account(2), keyBroker: account(3), specDigest, initialWeights: word(1) },
    ...{ policy: word(9), segments: 3, seedCommitClient: word(3), acceptBy: 4_000_000_000 },
    windows: { start: 60, compute: 600, challenge: 60, reveal: 600, ack: 60 },
  });

describe('the state of an escrow', () => {
  it('is that of these very terms', async () => {
    const ordered = terms(word(7));
    const client = new SettlementClient(deployment, wallet(1).connect(chain));
    await client.open(ordered);
    expect(await reader(0).stateOf(ordered)).toEqual({ latest: 'Open', confirmed: 'Open' });
    const another = { latest: 'None', confirmed: 'None' };
    expect(await reader(0).stateOf({ ...ordered, price: ordered.price + 1n })).toEqual(another);
    await client.cancel(ordered);
    expect((await reader(0).stateOf(ordered)).latest).toBe('Aborted');
  });

  it('is confirmed when blocks are on top of it', async () => {
    const ordered = terms(word(8));
    await new SettlementClient(deployment, wallet(1).connect(chain)).open(ordered);
    expect(await reader(2).stateOf(ordered)).toEqual({ latest: 'Open', confirmed: 'None' });
    await chain.send('anvil_mine', ['0x2']);
    expect(await reader(2).stateOf(ordered)).toEqual({ latest: 'Open', confirmed: 'Open' });
  });

  it('is unknown while the chain is away: CHAIN_UNREACHABLE', async () => {
    const away = reader(0, { rpcUrl: 'http://127.0.0.1:1' });
    await expect(away.stateOf(terms(word(7)))).rejects.toMatchObject({
      code: 'CHAIN_UNREACHABLE',
      family: 'collateral',
    });
  });
});
