/**
 * What the sample of a job costs where it is looked through: with as many draws as our software takes each call fits one
 * transaction, with as many as the contract takes none does. contracts/SPEC.md §8.
 */
import { AbiCoder, keccak256, toBeHex, toBigInt, type JsonRpcProvider } from 'ethers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CodedError, concatBytes, fromHex, keccak, samplesMax, to0x, utf8 } from '#attestation/base';
import { escrowIdOf, JobMode, type Terms } from '#attestation/records';
import { sendRoleCall } from '#libs/settlement';
import {
  duties,
  engage,
  marketTerms,
  openMarket,
  runOf,
  seedClient,
  seedProvider,
  walletOf,
  window,
  type Market,
} from '#test/escrow-market';

const segments = 4000;
/** Selector of a verifier that takes every seal and costs nothing: what is measured is the escrow's own. */
const selector = fromHex('0x11223344');
/** As long as the longest that a transaction carries, of zeros. */
const sealBytes = 117_000;
const calldataGas = 4;
/** Of `finalize` and `void`: a quarter of a transaction. */
const endGasMax = 4_200_000;
/** As `proofCost` of libs/proof reckons them beside a proof. */
const reckoned = 550 * samplesMax;
const borders = Array.from({ length: segments + 1 }, (_, i) => keccak(utf8(`border ${i}`)));

let market: Market;
let chain: JsonRpcProvider;
beforeAll(async () => {
  market = await openMarket();
  ({ chain } = market);
  const deployer = walletOf('deployer').connect(chain);
  // One byte of code, STOP.
  const made = await (await deployer.sendTransaction({ data: '0x60006000536001' + '6000f3' })).wait();
  const verifier = made!.contractAddress!;
  await sendRoleCall(deployer, market.deployment, { call: 'add', selector: to0x(selector), verifier });
});
afterAll(async () => {
  await market?.stop();
});

const gasOf = async ({ txHash }: { readonly txHash: string }): Promise<number> =>
  Number((await chain.getTransactionReceipt(txHash))!.gasUsed);

/** A run of as many segments as there may be, committed; one of them proved before the draw. */
async function committed(samples: number): Promise<{ readonly terms: Terms; readonly plainGas: number }> {
  const terms = marketTerms({
    ...{ mode: JobMode.sample, segments, samples, initialWeights: borders[0]!, dutySelectors: [selector] },
    ...{ holdbackBps: 10_000, acceptBy: 2 ** 39 + samples, windows: { ...duties, provePer: 1, hold: window } },
  });
  await engage(market, terms);
  await market.as('provider').commit(terms, runOf(borders, { seedProvider }));
  await market.pass(1);
  return { terms, plainGas: await gasOf(await discharge(terms, 0)) };
}

const discharge = (terms: Terms, segment: number, seal = selector) =>
  market.as('provider').duties.discharge(terms, segment, borders, seal);

/** Segments by the place at which they were drawn first, the latest first; and one that was not drawn. */
async function drawn(terms: Terms): Promise<{ readonly late: readonly number[]; readonly undrawn: number }> {
  await market.as('client').duties.draw(terms, seedClient);
  const sample = (await market.as('client').duties.sampleOf(terms))!;
  const late = [...new Set(sample)].filter((segment) => segment !== 0).toReversed();
  return { late, undrawn: borders.findIndex((_, i) => i > 0 && !sample.includes(i)) };
}

const hashed = (key: string, slot: string | number): string =>
  keccak256(AbiCoder.defaultAbiCoder().encode(['bytes32', 'uint256'], [key, slot]));

/** Marks all segments but these as proved, as cheap discharges before the draw would have. */
async function proveAllBut(terms: Terms, open: readonly number[]): Promise<void> {
  const { duties: at, settlement } = market.deployment;
  const ofJob = (slot: number): string => hashed(to0x(escrowIdOf(terms)), hashed(toBeHex(settlement, 32), slot));
  for (let word = 0; word << 8 < segments; word += 1) {
    const bits = Array.from({ length: 256 }, (_, i) => (word << 8) + i).map((i) => i < segments && !open.includes(i));
    const value = bits.reduce((sum, isSet, i) => sum | (isSet ? 1n << BigInt(i) : 0n), 0n);
    await chain.send('anvil_setStorageAt', [at, hashed(toBeHex(word, 32), ofJob(1)), toBeHex(value, 32)]);
  }
  const proved = 216n;
  const first = toBigInt(await chain.getStorage(at, ofJob(0))) & ~(0xffffn << proved);
  const counted = first | (BigInt(segments - open.length) << proved);
  await chain.send('anvil_setStorageAt', [at, ofJob(0), toBeHex(counted, 32)]);
  for (const segment of open) expect(await market.as('client').duties.isProved(terms, segment)).toBe(false);
}

it(`with ${samplesMax} samples every call fits one transaction, a proof beside it`, async () => {
  const { terms, plainGas } = await committed(samplesMax);
  const { late, undrawn } = await drawn(terms);
  await proveAllBut(terms, [late[0]!, late[1]!, undrawn]);
  const last = (await gasOf(await discharge(terms, late[0]!))) - plainGas;
  expect(last).toBeGreaterThan(1_500_000);
  expect(last).toBeLessThan(reckoned);
  const whole = await gasOf(await discharge(terms, late[1]!, concatBytes(selector, new Uint8Array(sealBytes))));
  expect(whole - plainGas - sealBytes * calldataGas).toBeLessThan(reckoned);

  const before: unknown = await chain.send('evm_snapshot', []);
  const guardian = walletOf('deployer').connect(chain);
  await sendRoleCall(guardian, market.deployment, { call: 'tombstone', selector: to0x(selector) });
  expect(await gasOf(await market.as('client').void(terms))).toBeLessThan(endGasMax);
  await chain.send('evm_revert', [before]);
  await market.pass(2 * window);
  expect(await gasOf(await market.as('provider').finalize(terms))).toBeLessThan(endGasMax);
});

it('with eight a segment, which the contract takes, what was drawn first can be proved, and what was drawn last cannot', async () => {
  const { terms } = await committed(8 * segments);
  const { late } = await drawn(terms);
  const [first, last] = [late.at(-1)!, late[0]!];
  await discharge(terms, first);
  await expect(discharge(terms, last)).rejects.toThrow(CodedError);
  const { duties: asked } = market.as('provider');
  expect(await Promise.all([first, last].map((one) => asked.isProved(terms, one)))).toEqual([true, false]);
});
