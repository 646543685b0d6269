/** One job: what it is, how far it is, what was measured, what happened, and where its evidence is. */
import { Digest } from '../../ui/copy.js';
import { ether, grouped, plain } from '../../reviewer/text.js';
import { tell } from '../api.js';
import { short, utcOf } from '../figures.js';
import { isAtWork, isEnd, JobState } from '../job-state.js';
import { useStory } from '../live.js';
import { useLoad } from '../load.js';
import { Act, Ago, Facts, Head, Shown } from '../parts.js';
import { Link } from '../router.js';
import type { Escrow, Job, Me } from '../types.js';
import { words } from '../words.js';
import { JobEvidence } from './later.js';
import { Refusal } from './refusal.js';
import { Training } from './training.js';
import { Moments } from './moments.js';

interface Props {
  readonly id: string;
  readonly part: string | undefined;
  readonly me: Me;
}

export function JobPage({ id, part, me }: Props) {
  const isEvidence = part === 'evidence';
  const job = useLoad<Job>(isEvidence ? null : `/v1/jobs/${encodeURIComponent(id)}`, 5000);
  if (isEvidence) {
    return (
      <>
        <p class="crumbs">
          <Link to="/jobs">Jobs</Link> / <Link to={`/jobs/${id}`}>{short(id)}</Link> / Evidence
        </p>
        <JobEvidence id={id} />
      </>
    );
  }
  return (
    <>
      <p class="crumbs">
        <Link to="/jobs">Jobs</Link> / {short(id)}
      </p>
      <Shown of={job}>{(data) => <Loaded job={data} me={me} reload={job.reload} />}</Shown>
    </>
  );
}

interface LoadedProps {
  readonly job: Job;
  readonly me: Me;
  readonly reload: () => void;
}

function Loaded({ job, me, reload }: LoadedProps) {
  const escrow = useLoad<Escrow>(`/v1/jobs/${job.id}/escrow`);
  const story = useStory(job.id, isEnd(job.state), () => {
    reload();
    escrow.reload();
  });
  return (
    <>
      <Head
        title={
          <>
            Job <code>{short(job.id)}</code> <JobState state={job.state} />
          </>
        }
      >
        {me.role !== 'reviewer' && <Steering job={job} reload={reload} />}
      </Head>
      <Refusal job={job} />
      <div class="columns">
        <Training job={job} story={story} segments={escrow.data?.segments} />
        <div class="beside">
          <Evidence job={job} me={me} />
          <About job={job} />
          <Money escrow={escrow.data} transaction={job.settlementTransaction} />
        </div>
        <Moments moments={story.moments} isLive={story.isLive} />
      </div>
    </>
  );
}

function Steering({ job, reload }: { readonly job: Job; readonly reload: () => void }) {
  const act = (command: string) => async (): Promise<void> => {
    await tell('POST', `/v1/jobs/${job.id}/${command}`);
    reload();
  };
  const isOpen = job.state === 'submitted' || isAtWork(job.state);
  return (
    <>
      {isOpen && <Act label="Pause" act={act('pause')} />}
      {job.state === 'paused' && <Act label="Resume" act={act('resume')} />}
      {(job.state === 'failed' || job.state === 'refused') && <Act label="Try again" act={act('retry')} />}
      {(isOpen || job.state === 'paused') && (
        <Act
          label="Cancel"
          question="This ends the training of this job for good."
          yes="Cancel the job"
          act={act('cancel')}
        />
      )}
    </>
  );
}

function Evidence({ job, me }: { readonly job: Job; readonly me: Me }) {
  const isThere = job.state === 'delivered' || job.state === 'settled' || job.state === 'disputed';
  return (
    <section aria-labelledby="evidence">
      <h2 id="evidence">Evidence</h2>
      {isThere ? (
        <>
          <p>
            <Link to={`/jobs/${job.id}/evidence`} class="button primary">
              Judge the evidence
            </Link>
          </p>
          <ul class="plainlist downloads">
            <li>
              <a href={`/v1/jobs/${job.id}/bundle`} download={`${job.id.slice(2, 14)}.vtb`}>
                Download the bundle
              </a>
            </li>
            {me.role === 'client' && (
              <li>
                <a href={`/v1/jobs/${job.id}/result`} download={`${job.id.slice(2, 14)}.result`}>
                  Download the encrypted result
                </a>
              </li>
            )}
            <li>
              <a href="/console/reviewer.html" download="veritrain-reviewer.html">
                Download the reviewer, which judges a bundle offline
              </a>
            </li>
          </ul>
        </>
      ) : (
        <p class="note">{isEnd(job.state) ? words.neverEvidence : words.noEvidence}</p>
      )}
    </section>
  );
}

function About({ job }: { readonly job: Job }) {
  return (
    <section aria-labelledby="about">
      <h2 id="about">About this job</h2>
      <Facts
        rows={[
          ['Job', <Digest value={job.id} label="the job’s id" />],
          ['Data set', <Digest value={job.datasetId} label="the data set’s id" />],
          ['Vouched for by', assurance[job.assurance] ?? plain(job.assurance)],
          ['Attempt', String(job.attempt)],
          ['Submitted', utcOf(job.createdAt)],
          ...(isEnd(job.state)
            ? [['Ended', utcOf(job.updatedAt)] as const]
            : [['Must be committed by', utcOf(job.deadline)] as const]),
          ...(job.attestedUntil === null
            ? []
            : [['Attestation counts until', <Ago at={job.attestedUntil} />] as const]),
        ]}
      />
    </section>
  );
}

const assurance: Readonly<Record<string, string>> = {
  tee: 'an attested machine, which signs every segment',
  zk: 'proofs of every step; no machine needs to be believed',
  'tee+zk': 'an attested machine, and proofs of every step',
  sampled: 'proofs of segments that the chain draws',
};

const isNobody = (account: string): boolean => /^0x0+$/.test(account);

/** By the kind of a payment. */
const paidFor: Readonly<Record<string, string>> = {
  voucher: 'with a voucher for segments',
  prefix: 'for the segments that were done',
  bond: 'of the bond',
  fee: 'as the fee',
  deposit: 'of the deposit',
  end: 'at the end',
};

interface MoneyProps {
  readonly escrow: Escrow | undefined;
  readonly transaction: string | null;
}

function Money({ escrow, transaction }: MoneyProps) {
  if (escrow === undefined) return null;
  const { state, fundedWei, paidWei, payments } = escrow;
  return (
    <section aria-labelledby="money">
      <h2 id="money">Payment</h2>
      <Facts
        rows={[
          ['Escrow', plain(state)],
          ['Funded', ether(fundedWei)],
          ...(paidWei === '0' ? [] : [['Paid before the end', ether(paidWei)] as const]),
          [
            'Paid to',
            isNobody(escrow.provider) ? (
              'nobody yet'
            ) : (
              <Digest value={escrow.provider} label="the provider’s account" />
            ),
          ],
          ...(transaction === null
            ? []
            : [['Settled in', <Digest value={transaction} label="transaction" />] as const]),
        ]}
      />
      {payments.length > 0 && (
        <ul class="plainlist payments" aria-label="payments">
          {payments.map((one, index) => (
            <li key={index}>
              {ether(one.amountWei)} to {plain(one.to)}{' '}
              <span class="note">
                {paidFor[one.kind] ?? plain(one.kind)}, block {grouped(one.blockNumber)}
              </span>
            </li>
          ))}
        </ul>
      )}
      <p class="note">{words.escrow}</p>
    </section>
  );
}
