/** The verdict: the sentence first, then why, then what it is about. */
import {
  headingOf,
  headings,
  isNeutral,
  reasonsOf,
  workOf,
  type BundleFacts,
  type BundleVerdict,
  type Fault,
} from '#libs/review';
import { Digest } from '../ui/copy.js';
import { State } from '../ui/state.js';
import { WithCode } from '../ui/with-code.js';
import type { Judgement } from './judge.js';
import { codeLines, isRevoked, revokedLine } from './machine.js';
import type { Opened } from './open.js';
import { grouped, plain, saidBy, utc } from './text.js';
import { assuranceWords, headingMarks, reasonWords, statusWords, words } from './words.js';

const reasonsMax = 5;

interface Props {
  readonly judgement: Judgement;
  readonly opened: Opened;
  readonly sha256: string;
  readonly facts: BundleFacts;
  readonly onMeasurement: () => void;
}

export function Verdict({ judgement, opened, sha256, facts, onMeasurement }: Props) {
  const { was: verdict } = judgement;
  const heading = headingOf(verdict);
  const reasons = reasonsOf(verdict.checks.filter(({ id }) => id !== 'BUNDLE_TRANSACTIONS'));
  const { policy } = opened;
  return (
    <section class={`verdict ${heading}`} aria-labelledby="verdict">
      <h1 id="verdict" tabIndex={-1}>
        <span class="mark" aria-hidden="true">
          {headingMarks[heading]}
        </span>
        {headings[heading]}
      </h1>
      <p class="how">
        As of {freshAt(verdict)},{' '}
        {policy === undefined ? byOwnPolicy(verdict) : `${words.byYourPolicy}, ${plain(policy.policy.id)}`}
        {policy !== undefined && whoseOf(verdict)}.
      </p>
      <OtherTime judgement={judgement} />
      {reasons.length > 0 && (
        <ul class="reasons">
          {reasons.slice(0, reasonsMax).map((check) => (
            <li key={`${check.id} ${check.got}`}>
              <State kind={check.status} {...statusWords[check.status]} />
              <span class="why">
                <span class="stake">{reasonWords[check.status]}</span> {check.means} <code>{check.code}</code>
                <span class="action">
                  Found: {saidBy(check, check.got) || 'nothing'}.
                  {check.action !== '' && <WithCode text={` What to do: ${check.action}.`} />}
                </span>
              </span>
            </li>
          ))}
          {reasons.length > reasonsMax && (
            <li class="more">
              <a href="#checks">and {reasons.length - reasonsMax} more</a>
            </li>
          )}
        </ul>
      )}
      <dl class="facts">
        {linesOf(judgement, facts, sha256).map(([name, value]) => (
          <div key={`${name} ${value}`}>
            <dt>{name}</dt>
            <dd>
              {/^[0-9a-f]{40,}$/.test(value) ? (
                <Digest value={value} label={name} />
              ) : (
                <span class={isRevoked(name, value) ? 'bad' : ''}>{value}</span>
              )}
              {name === words.code && (
                <button type="button" class="quiet no-print" onClick={onMeasurement}>
                  show the bytes<span class="unseen"> of the measurement</span>
                </button>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** The same file as of the other time: whoever looks at the heading alone sees what became of it. */
function OtherTime({ judgement: { was, today, at } }: Pick<Props, 'judgement'>) {
  const heading = headingOf(today);
  return (
    <p class={`other ${heading}`}>
      As of {utc(at)} UTC:{' '}
      <strong>
        <span aria-hidden="true">{headingMarks[heading]}</span> {headings[heading]}
      </strong>
      {heading === headingOf(was) ? ', the same.' : '.'}{' '}
      <a class="no-print" href="#checks">
        {words.whatChanged}
      </a>
    </p>
  );
}

function linesOf(
  { bundle, was: verdict, today, at }: Judgement,
  { workers, assurance, proofOf }: BundleFacts,
  sha256: string,
): (readonly [string, string])[] {
  const { jobId, datasetRoot, result, steps, segments } = verdict;
  const unit = workers > 1 ? `rounds of ${workers} workers` : 'segments';
  const proved = segments.filter(({ isProved }) => isProved).length;
  const signed = segments.filter(({ isSigned }) => isSigned).length;
  const by = [
    signed > 0 ? `${share(signed, segments.length)} with a receipt` : '',
    proved > 0 ? `${share(proved, segments.length)} with a proof` : '',
  ].filter(Boolean);
  return [
    [words.file, plain(bundle.name)],
    ...policyLines(verdict),
    ['Job', jobId],
    ['Data', datasetRoot],
    ['Result', result],
    ...codeLines(verdict),
    ...revokedLine(today, at),
    [
      'Training',
      `${grouped(steps)} steps in ${grouped(segments.length)} ${unit}, ${by.join(', ') || 'none with either'}`,
    ],
    ...(proofOf === null ? [] : [['Each proof', words.proofOf(proofOf)] as const]),
    ...workLines(verdict),
    ['Agreed assurance', assuranceWords[assurance]],
    ['This file', sha256],
  ];
}

/** With its date where a machine was judged. */
function freshAt({ sessions: [first] }: BundleVerdict): string {
  return first === undefined ? words.whenFresh : `${words.whenFresh}, ${utc(first.at)} UTC`;
}

const byOwnPolicy = ({ sessions }: BundleVerdict): string =>
  sessions.length === 0 ? words.byNoPolicy : words.byOwnPolicy;

function whoseOf({ sessions: [first] }: BundleVerdict): string {
  if (first === undefined) return '';
  return isNeutral(first.policyDigest) ? words.neutral : words.notShipped;
}

function policyLines({ sessions: [first] }: BundleVerdict): [string, string][] {
  if (first === undefined) return [];
  return [
    ['Policy', plain(first.policyId)],
    ['Digest of the policy', first.policyDigest],
  ];
}

const share = (some: number, all: number): string => (some === all ? 'all' : grouped(some));

function workLines(verdict: BundleVerdict): [string, string][] {
  const work = workOf(verdict);
  if (work === null) return [];
  const { rowsUsed, rows, epochs, forwardMultiplyAdds } = work;
  return [
    ['Rows used', `${grouped(rowsUsed)}: ${epochs} epochs over the ${grouped(rows)} of the data set`],
    ['Multiply-adds', `${grouped(BigInt(forwardMultiplyAdds))} in forward passes`],
  ];
}

/** Of a file, by its name. */
export interface Failure {
  readonly fault: Fault;
  readonly name: string;
}

export function NoBundle(failure: Failure) {
  return <NoVerdict {...failure} heading={headings['not-a-bundle']} />;
}

/** Of a file that was judged, or not: the page cannot say, so nothing of it stays. */
export function NotShown(failure: Failure) {
  return <NoVerdict {...failure} heading={words.notShown} />;
}

function NoVerdict({ fault, name, heading }: Failure & { readonly heading: string }) {
  return (
    <section class="verdict not-a-bundle" aria-labelledby="verdict">
      <h1 id="verdict" tabIndex={-1}>
        <span class="mark" aria-hidden="true">
          ✕
        </span>
        {heading}
      </h1>
      <p class="how">{plain(name)}</p>
      <dl class="facts fault">
        {(['code', 'expected', 'got', 'action'] as const).map((part) => (
          <div key={part}>
            <dt>{part === 'action' ? 'what to do' : part}</dt>
            <dd>{plain(fault[part])}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
