/** Jobs of the load bench: real specs and terms whose escrows count as open, and rows that wait in the queue. */
import { to0x, toBase64 } from '#attestation/base';
import { openDatabase, Dataset, DatasetShard, EscrowEventRecord, Job } from '#libs/persistence';
import { sha256 } from '#test/made-session';
import { readTerms } from '../../../apps/control-plane/src/jobs/escrow-terms.js';
import { anyProvider } from '../../../apps/control-plane/src/jobs/job-queue.js';
import { Random } from '../../simulation/random.js';
import { datasetRows, makeJob, shard, type SimulatedJob } from '../../simulation/work.js';

interface Order {
  readonly id: string;
  readonly key: string;
  readonly body: string;
}

const tenant = 'load';
const random = new Random(1);

/**
 * Data set, `queued` jobs that wait for what no node here has, and the escrow events of `coming` jobs, which are on the
 * chain when they are submitted.
 */
export async function seed(url: string, queued: number, coming: number): Promise<Order[]> {
  const database = await openDatabase({ kind: 'server', url, poolSize: 2 });
  const { manager } = database.dataSource;
  const now = new Date();
  const at = Math.floor(now.getTime() / 1000) + 3600;
  const [row] = datasetRows(tenant, now);
  await manager.insert(Dataset, row as object);
  const { sha256: digest, bytes } = shard!;
  await manager.insert(DatasetShard, { datasetId: row!.id, index: 0, sha256: to0x(digest), bytes, uploadedAt: now });
  const plain = (number: number) => makeJob(random, { tenant, number, at, kind: 'plain', provider: anyProvider });
  const made = Array.from({ length: coming }, (_, number) => plain(number));
  const opened = made.map(({ escrowId }, index) => ({
    blockHash: to0x(sha256('block')),
    blockNumber: 1,
    logIndex: index,
    transaction: to0x(sha256(escrowId)),
    escrowId,
    name: 'JobOpened',
    data: { price: '1000' } as object,
  }));
  for (let from = 0; from < opened.length; from += 500) {
    await manager.insert(EscrowEventRecord, opened.slice(from, from + 500));
  }
  const waiting = Array.from({ length: queued }, (_, index) => waitingRow(plain(1e6 + index), now, index));
  for (let from = 0; from < waiting.length; from += 500) {
    await manager.insert(Job, waiting.slice(from, from + 500) as object[]);
  }
  await database.dataSource.query('ANALYZE');
  await database.close();
  return made.map(orderOf);
}

function orderOf({ id, input }: SimulatedJob): Order {
  const { spec, terms, policy, brokerUrl, idempotencyKey: key } = input;
  return { id, key, body: JSON.stringify({ spec: toBase64(spec), terms, policy: toBase64(policy), brokerUrl }) };
}

/** More cores than a node of the bench has, or an account that none of them is paid to. */
function waitingRow(job: SimulatedJob, now: Date, index: number): object {
  const terms = readTerms(job.input.terms);
  return {
    id: job.id,
    tenant: 'waiting',
    state: 'submitted',
    escrowId: job.escrowId,
    spec: job.input.spec,
    terms: job.input.terms,
    provider: index % 2 === 0 ? terms.provider : `0x${'22'.repeat(20)}`,
    requirements: index % 2 === 0 ? { cores: 64 + (index % 8) } : {},
    policy: job.input.policy,
    assurance: 'tee',
    brokerUrl: job.input.brokerUrl,
    datasetId: datasetRows(tenant, now)[0]!.id,
    steps: String(job.manifest.steps),
    funded: true,
    escrowState: 'open',
    rank: String(1 + index),
    price: '1000',
    acceptByAt: new Date(terms.acceptBy * 1000),
    deadlineAt: new Date(terms.commitBy * 1000),
    createdAt: now,
    updatedAt: now,
  };
}
