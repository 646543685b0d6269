/** The public factory and the checks of a chain, on anvil. */
import { HDNodeWallet, type JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startAnvil, testMnemonic, type Anvil } from './anvil.js';
import { checkCapabilities } from './capabilities.js';
import { connect } from './chain.js';
import { create2, create2Address, ensureFactory, factory } from './create2.js';
import { submitOptions } from './transaction.js';

const waiting = submitOptions('local');
const salt = `0x${'11'.repeat(32)}`;
/** Returns one byte of code: STOP. */
const initCode = '0x60016000f3';

let anvil: Anvil;
let chain: JsonRpcProvider;
let signer: HDNodeWallet;
beforeAll(async () => {
  anvil = await startAnvil();
  chain = connect(anvil.url, anvil.chainId, 20);
  signer = HDNodeWallet.fromPhrase(testMnemonic).connect(chain);
});
afterAll(async () => {
  chain?.destroy();
  await anvil?.stop();
});

it('puts the factory on a chain that lacks it, by its presigned transaction', async () => {
  await chain.send('anvil_setCode', [factory, '0x']);
  await ensureFactory(signer, anvil.chainId, waiting);
  expect(await create2(signer, anvil.chainId, { salt, initCode }, waiting)).toBe(true);
  expect(await chain.getCode(create2Address(salt, initCode))).toBe('0x00');
});

it('makes a contract once, and says that it stands there', async () => {
  expect(await create2(signer, anvil.chainId, { salt, initCode }, waiting)).toBe(false);
});

it('refuses another contract at the factory’s address', async () => {
  const genuine = await chain.getCode(factory);
  await chain.send('anvil_setCode', [factory, '0x00']);
  await expect(ensureFactory(signer, anvil.chainId, waiting)).rejects.toMatchObject({ code: 'CHAIN_FACTORY' });
  await chain.send('anvil_setCode', [factory, genuine]);
});

it('finds what the contracts need of a chain of today, and says what an older one lacks', async () => {
  await chain.send('anvil_mine', ['0x3']);
  await checkCapabilities(chain);
  const old = await startAnvil({ hardfork: 'cancun' });
  const cancun = connect(old.url, old.chainId, 20);
  await cancun.send('anvil_mine', ['0x3']);
  await expect(checkCapabilities(cancun)).rejects.toMatchObject({ code: 'CHAIN_CAPABILITY' });
  cancun.destroy();
  await old.stop();
});
