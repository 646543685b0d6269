/** What the commands of an escrow do on the chain; commands/escrow.ts has their options. */
import { formatEther } from 'ethers';
import { parseTermsJson, type Terms } from '#attestation/records';
import {
  challengeSegment,
  dischargeGroth16Segments,
  dischargeSegments,
  exitEscrow,
  loadProfile,
  openChain,
  ownSeed,
  ownTerms,
  settleEscrow,
  type ClientChain,
  type Profile,
} from '#libs/client';
import { readBytes, readJson, readSecret } from '#libs/client/files';
import { parseGroth16Statement, parseProofStatement, proofBundleBytesMax, proofStatementBytesMax } from '#libs/proof';
import { addressBytes, type SettlementClient } from '#libs/settlement';
import { printResult, table, type OutputOptions } from '../output.js';

interface EscrowOptions extends OutputOptions {
  readonly profile?: string;
  readonly terms?: string;
}

interface ProveOptions extends EscrowOptions {
  readonly proof: string;
  readonly statement: string;
}

export async function settle(id: string, options: EscrowOptions & { readonly seed?: string }): Promise<void> {
  const given = options.seed === undefined ? undefined : readSecret(options.seed);
  await onChain(options, async (chain, profile) => {
    const seed = given ?? ownSeed(profile, id);
    const { move, receipt } = await settleEscrow(chain.escrow, termsOf(profile, id, options), await chain.now(), seed);
    const result = { ...move, transaction: receipt?.txHash ?? null };
    printResult(options, result, () =>
      move.call === 'wait'
        ? table([
            ['nothing to do', move.why],
            ['until', new Date(1000 * move.until).toISOString()],
          ])
        : table([[move.call === 'lapse' ? `lapse of segment ${move.segment}` : move.call, receipt!.txHash]]),
    );
  });
}

export async function challenge(id: string, options: EscrowOptions & { readonly segment: number }): Promise<void> {
  await onChain(options, async ({ escrow }, profile) => {
    const terms = termsOf(profile, id, options);
    const { segment } = options;
    const { txHash } = await challengeSegment(escrow, terms, segment);
    const duty = (await escrow.duties.list(terms)).find((one) => one.segment === segment);
    const deadline = duty?.deadline ?? null;
    printResult(options, { segment, bondWei: String(terms.bond), deadline, transaction: txHash }, () =>
      table([
        ['challenged', txHash],
        ['bond', `${formatEther(terms.bond)}, lost when the segment is proved`],
        ['proof is due by', deadline === null ? 'already proved' : new Date(1000 * deadline).toISOString()],
        ['after that', `veritrain job settle ${id}`],
      ]),
    );
  });
}

export async function proveSegment(id: string, options: ProveOptions): Promise<void> {
  const proof = readBytes(options.proof, proofBundleBytesMax);
  const json = readJson(options.statement, proofStatementBytesMax);
  const isGroth16 = (json as { backend?: unknown } | null)?.backend === 'groth16';
  const discharge = isGroth16
    ? (escrow: SettlementClient, terms: Terms) =>
        dischargeGroth16Segments(escrow, terms, proof, parseGroth16Statement(json))
    : (escrow: SettlementClient, terms: Terms) => dischargeSegments(escrow, terms, proof, parseProofStatement(json));
  await onChain(options, async ({ escrow }, profile) => {
    const discharged = await discharge(escrow, termsOf(profile, id, options));
    const segments = discharged.map(({ segment, receipt }) => ({ segment, transaction: receipt.txHash }));
    printResult(options, { segments }, () =>
      table(segments.map(({ segment, transaction }) => [`segment ${segment} proved`, transaction])),
    );
  });
}

export async function exit(id: string, options: EscrowOptions): Promise<void> {
  await onChain(options, async (chain, profile) => {
    const { call, receipt } = await exitEscrow(chain.escrow, termsOf(profile, id, options), await chain.now());
    printResult(options, { call, transaction: receipt.txHash }, () =>
      table([
        [call, receipt.txHash],
        ['next', 'veritrain job withdraw'],
      ]),
    );
  });
}

export async function missing(id: string, options: EscrowOptions): Promise<void> {
  await onChain(options, async (chain, profile) => {
    const { txHash } = await chain.escrow.delivery.missing(termsOf(profile, id, options));
    printResult(options, { transaction: txHash }, () => table([['missing', txHash]]));
  });
}

export async function unseal(id: string, options: EscrowOptions & { readonly sealingKey: string }): Promise<void> {
  await onChain(options, async ({ escrow }, profile) => {
    const { txHash } = await escrow.keys.unseal(termsOf(profile, id, options), addressBytes(options.sealingKey));
    printResult(options, { transaction: txHash }, () =>
      table([
        ['unsealed', txHash],
        ['next', 'veritrain job settle'],
      ]),
    );
  });
}

export async function resign(id: string, options: EscrowOptions): Promise<void> {
  await onChain(options, async ({ escrow }, profile) => {
    const { txHash } = await escrow.resign(termsOf(profile, id, options));
    printResult(options, { transaction: txHash }, () => table([['resigned', txHash]]));
  });
}

interface WithdrawOptions extends EscrowOptions {
  readonly to?: string;
  readonly freeStake?: true;
}

export async function withdraw(options: WithdrawOptions): Promise<void> {
  await onChain(options, async (chain) => {
    const native = new Uint8Array(20);
    if (options.freeStake === true) await chain.escrow.stakeDownTo(native, 0n);
    const amount = await chain.escrow.creditOf(await chain.escrow.signer.getAddress(), native);
    const receipt = await chain.escrow.withdraw(
      native,
      options.to === undefined ? undefined : addressBytes(options.to),
    );
    const transaction = receipt?.txHash ?? null;
    printResult(options, { amountWei: String(amount), transaction }, () =>
      transaction === null ? 'nothing to withdraw' : table([[`${formatEther(amount)} withdrawn`, transaction]]),
    );
  });
}

function termsOf(profile: Profile, id: string, { terms }: EscrowOptions): Terms {
  return terms === undefined ? ownTerms(profile, id) : parseTermsJson(readJson(terms));
}

async function onChain(
  options: EscrowOptions,
  work: (chain: ClientChain, profile: Profile) => Promise<void>,
): Promise<void> {
  const profile = loadProfile(options.profile);
  const chain = openChain(profile);
  try {
    await work(chain, profile);
  } finally {
    chain.close();
  }
}
