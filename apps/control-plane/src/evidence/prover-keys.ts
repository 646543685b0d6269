/** What a node without a TEE tells of the key that it was given: entries of the key broker in a log, for the bundle. */
import { createHash } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import { ProverKey } from '#libs/persistence';
import type { LoggedEntries } from '#libs/wire';

/** The same entries once, with however many proofs they are told. */
export async function keepProverKey(
  manager: EntityManager,
  jobId: string,
  logged: LoggedEntries | undefined,
  createdAt: Date,
): Promise<void> {
  if (logged === undefined || logged.length === 0) return;
  const digest = createHash('sha256')
    .update(logged.map(({ entry }) => entry).join(' '))
    .digest('hex');
  const row = { jobId, digest, logged: logged as object[], createdAt };
  await manager.createQueryBuilder().insert().into(ProverKey).values(row).orIgnore().execute();
}
