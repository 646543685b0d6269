/** Lines for what a verdict was judged by and as of when, and whose job it is about. */
import { judgedBy, type BundleVerdict } from '#libs/review';
import { isoTime } from './judging-time.js';

/** @param asked Unix seconds that the reader named */
export function judgedByLines(verdict: BundleVerdict, asked: number | undefined): [string, string][] {
  const { policy, policyOfJob, sessions, client, providers } = judgedBy(verdict);
  const ofJob = `; the job was submitted under ${policyOfJob}`;
  const lines: [string, string][] = [
    ['client', client],
    ['provider', providers.join(', ') || 'none named: the job is proved, whoever computed it'],
  ];
  if (policy === null) return [...lines, ['policy', `none judged anything: there is no session${ofJob}`]];
  const times = sessions.map(({ judgedAt }) => judgedAt);
  return [
    ...lines,
    ['attested', `${span(sessions.map(({ attestedAt }) => attestedAt))}, ${countOf(sessions.length)}`],
    ['might work', `until ${isoTime(Math.max(...sessions.map(({ until }) => until)))}, as its key service signed`],
    ['as of', `${span(times)} (${asked === undefined ? 'when the evidence was fresh' : 'as asked'})`],
    ['policy', `${policy.id} ${policy.digest}`],
    ['chosen by', whose(verdict, policy.isNeutral) + (policy.isOfJob ? '; the job was submitted under it' : ofJob)],
  ];
}

/** The reader's own, where `BUNDLE_POLICY` asks for none. */
function whose({ checks }: BundleVerdict, isNeutral: boolean): string {
  const status = checks.find(({ id }) => id === 'BUNDLE_POLICY')?.status;
  if (status === 'met') return isNeutral ? 'you: the neutral one of this release' : 'you: no policy of this release';
  return isNeutral ? 'nobody: the neutral one stands in for the bundle’s own' : 'the bundle’s maker';
}

function span(times: readonly number[]): string {
  const [first, last] = [Math.min(...times), Math.max(...times)].map(isoTime) as [string, string];
  return first === last ? first : `${first} to ${last}`;
}

const countOf = (count: number): string => (count === 1 ? '1 session' : `${count} sessions`);
