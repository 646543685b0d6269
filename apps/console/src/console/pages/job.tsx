/** One job: what it is, how far it is, what was measured, what happened, and where its evidence is. */
import { Digest } from '../../ui/copy.js';
import { ether, grouped, plain } from '../../reviewer/text.js';
import { tell } from '../api.js';
import { short, utcOf } from '../figures.js';
import { isAtWork, isEnd, JobState, Simulated } from '../job-state.js';
import { useStory } from '../live.js';
import { useLoad, type Loaded } from '../load.js';
import { Act, Ago, Command, Facts, Head, Shown } from '../parts.js';
import { Link } from '../router.js';
import type { Appraisal, Escrow, Job, Me } from '../types.js';
import { words } from '../words.js';
import { isAccepted, isSimulated, Tier } from './appraisals.js';
import { resultCommand, settleCommand } from './commands.js';
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
      <Shown of={job}>{(data) => <Known job={data} me={me} reload={job.reload} />}</Shown>
    </>
  );
}

interface KnownProps {
  readonly job: Job;
  readonly me: Me;
  readonly reload: () => void;
}

function Known({ job, me, reload }: KnownProps) {
  const escrow = useLoad<Escrow>(`/v1/jobs/${job.id}/escrow`);
  const appraisals = useLoad<readonly Appraisal[]>(`/v1/jobs/${job.id}/appraisals`);
  const story = useStory(job.id, isEnd(job.state), () => {
    reload();
    escrow.reload();
    appraisals.reload();
  });
  const shown = appraisals.data?.find(isAccepted) ?? appraisals.data?.[0];
  const hasSimulated = appraisals.data?.some((one) => isAccepted(one) && isSimulated(one)) === true;
  return (
    <>
      <Head
        title={
          <>
            Job <code>{short(job.id)}</code> <JobState state={job.state} /> {hasSimulated && <Simulated />}
          </>
        }
      >
        {me.role !== 'reviewer' && <Steering job={job} reload={reload} />}
      </Head>
      {hasSimulated && <p class="since waits">{words.simulated}</p>}
      <Refusal job={job} />
      <div class="columns">
        <Training job={job} story={story} escrow={escrow.data} />
        <div class="beside">
          {job.state === 'delivered' && me.role === 'client' && <Next id={job.id} />}
          <Evidence job={job} me={me} />
          <About job={job} shown={shown} />
          <Money escrow={escrow} transaction={job.settlementTransaction} />
        </div>
        <Moments story={story} />
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

/** Of a job that is delivered and not paid. */
function Next({ id }: { readonly id: string }) {
  return (
    <section aria-labelledby="next">
      <h2 id="next">What to do now</h2>
      <p>Check the evidence, pay, and decrypt the model, on the machine that has your keys:</p>
      <Command label="fetch the result" text={resultCommand(id)} />
      <p class="note">{words.paysItself}</p>
      <Command label="when it can be settled" text={settleCommand(id)} />
    </section>
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

interface AboutProps {
  readonly job: Job;
  /** The newest evidence that was accepted, else the newest of all. */
  readonly shown: Appraisal | undefined;
}

function About({ job, shown }: AboutProps) {
  return (
    <section aria-labelledby="about">
      <h2 id="about">About this job</h2>
      <Facts
        rows={[
          ['Job', <Digest value={job.id} label="the job’s id" />],
          ['Data set', <Digest value={job.datasetId} label="the data set’s id" />],
          ['To be shown', toBeShown[job.assurance] ?? plain(job.assurance)],
          ...(shown === undefined ? [] : [['Evidence of its node', <Tier of={shown} />] as const]),
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

/** What the job demands, which is not yet what anybody showed. */
const toBeShown: Readonly<Record<string, string>> = {
  tee: 'attestation of the machine that signs every segment',
  zk: 'proofs of every step; no machine needs to be believed',
  'tee+zk': 'attestation of the machine, and proofs of every step',
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

/** Where the escrow has ended otherwise, the account names the provider and no payment. */
function payeeLabel(state: string): string {
  if (state === 'settled' || state === 'stopped') return 'Paid to';
  return ['none', 'open', 'accepted', 'started', 'committed'].includes(state) ? 'To be paid to' : 'Provider';
}

interface MoneyProps {
  readonly escrow: Loaded<Escrow>;
  readonly transaction: string | null;
}

function Money({ escrow, transaction }: MoneyProps) {
  return (
    <section aria-labelledby="money">
      <h2 id="money">Payment</h2>
      <Shown of={escrow}>{(read) => <Paid escrow={read} transaction={transaction} />}</Shown>
    </section>
  );
}

interface PaidProps {
  readonly escrow: Escrow;
  readonly transaction: string | null;
}

function Paid({ escrow, transaction }: PaidProps) {
  const { state, fundedWei, paidWei, payments } = escrow;
  return (
    <>
      <Facts
        rows={[
          ['Escrow', plain(state)],
          ['Funded', ether(fundedWei)],
          ...(paidWei === '0' ? [] : [['Paid before the end', ether(paidWei)] as const]),
          [
            payeeLabel(state),
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
    </>
  );
}
