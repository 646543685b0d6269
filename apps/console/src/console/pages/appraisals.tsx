/** What policies of jobs said of a node's evidence: its firmware against floors, and what would be refused and why. */
import { plain } from '../../reviewer/text.js';
import { State } from '../../ui/state.js';
import { short } from '../figures.js';
import { useLoad } from '../load.js';
import { Ago, Shown } from '../parts.js';
import type { Appraisal, AppraisalCheck } from '../types.js';

const isFirmware = ({ code }: AppraisalCheck): boolean => /TCB|FIRMWARE|VBIOS|DRIVER|MICROCODE|COLLATERAL/.test(code);
const holds = ({ status }: AppraisalCheck): boolean => status === 'met';
const refuses = ({ status }: AppraisalCheck): boolean => status !== 'met' && status !== 'warned';

export function AppraisalsOf({ nodeId }: { readonly nodeId: string }) {
  const appraisals = useLoad<readonly Appraisal[]>(`/v1/nodes/${encodeURIComponent(nodeId)}/appraisals`, 10_000);
  return (
    <Shown of={appraisals}>
      {(all) =>
        all.length === 0 ? (
          <section aria-labelledby="appraisals">
            <h2 id="appraisals">What policies said of its evidence</h2>
            <p class="note">Nothing yet: no job has asked this node for evidence.</p>
          </section>
        ) : (
          <>
            <Newest appraisal={all[0]!} />
            <Earlier all={all} />
          </>
        )
      }
    </Shown>
  );
}

function Newest({ appraisal }: { readonly appraisal: Appraisal }) {
  const { checks, jobId, at } = appraisal;
  const open = checks.filter((check) => !holds(check));
  return (
    <section aria-labelledby="newest">
      <h2 id="newest">
        Newest evidence, <Ago at={at} /> <Tier of={appraisal} />
      </h2>
      <p class="note">
        Judged by the policy of one job, <code title={jobId}>{short(jobId)}</code>: another may demand more or less.
      </p>
      <h3>Firmware against the floors of that policy</h3>
      <Checks checks={checks.filter(isFirmware)} none="This policy looked at no firmware." />
      <h3>What does not simply hold, and why</h3>
      <Checks checks={open.filter((check) => !isFirmware(check))} none="Nothing: everything else holds." />
      <details>
        <summary>Every check of it: {checks.length}</summary>
        <Checks checks={checks} none="" />
      </details>
    </section>
  );
}

interface ChecksProps {
  readonly checks: readonly AppraisalCheck[];
  readonly none: string;
}

function Checks({ checks, none }: ChecksProps) {
  if (checks.length === 0) return <p class="note">{none}</p>;
  return (
    <ul class="appraised">
      {checks.map((check, index) => (
        <li key={index}>
          <Status of={check} />
          <span class="what">
            {plain(check.rule)} <code>{plain(check.code)}</code>
            <span class="found">Found: {plain(check.got) || 'nothing'}</span>
          </span>
        </li>
      ))}
    </ul>
  );
}

function Status({ of }: { readonly of: AppraisalCheck }) {
  if (holds(of)) return <State kind="met" mark="✓" word="holds" />;
  return refuses(of) ? (
    <State kind="refused" mark="✕" word={plain(of.status)} />
  ) : (
    <State kind="warned" mark="!" word="remark" />
  );
}

export const isAccepted = ({ tier }: Appraisal): boolean => tier !== 'contraindicated' && tier !== 'none';
export const isSimulated = ({ checks }: Appraisal): boolean => checks.some(({ code }) => code.startsWith('SIMULATED'));

/** Never greener than the evidence: simulated hardware is a remark at best. */
export function Tier({ of }: { readonly of: Appraisal }) {
  if (!isAccepted(of)) return <State kind="refused" mark="✕" word="refused" />;
  if (isSimulated(of)) return <State kind="warned" mark="!" word="accepted, but simulated" />;
  return of.tier === 'affirming' ? (
    <State kind="met" mark="✓" word="accepted" />
  ) : (
    <State kind="warned" mark="!" word="accepted, with remarks" />
  );
}

/** By the state of the lease under which the evidence was shown. */
const leaseWords: Readonly<Record<string, string>> = {
  active: 'runs',
  done: 'ended with a delivery',
  failed: 'failed',
  refused: 'was refused',
  expired: 'expired',
  cancelled: 'was cancelled',
};

function Earlier({ all }: { readonly all: readonly Appraisal[] }) {
  return (
    <section aria-labelledby="earlier">
      <h2 id="earlier">All of them, newest first</h2>
      <ul class="appraised">
        {all.map((one) => (
          <li key={`${one.leaseId} ${one.at}`}>
            <Tier of={one} />
            <span class="what">
              <Ago at={one.at} />, job <code title={one.jobId}>{short(one.jobId)}</code>
              {one.renewal ? ', attested again' : ''}; its lease {leaseWords[one.lease] ?? plain(one.lease)}
              {one.leaseCode !== null && (
                <>
                  {' '}
                  <code>{plain(one.leaseCode)}</code>
                </>
              )}
              {one.checks.filter(refuses).map(({ code, got }) => (
                <span key={code} class="found">
                  {plain(code)}: {plain(got) || 'nothing'}
                </span>
              ))}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
