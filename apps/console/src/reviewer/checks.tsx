/** All checks, a group for each link of the chain: then, today, what it means, what was expected and what came. */
import { useState } from 'preact/hooks';
import { isIdle, type Check } from '#libs/review';
import { State } from '../ui/state.js';
import { WithCode } from '../ui/with-code.js';
import { compared, fallen, isSame, keyOf, simplyHolds, sorted, type ComparedCheck } from './compare.js';
import type { Judgement } from './judge.js';
import type { Link } from './links.js';
import { placeOf, type Place } from './places.js';
import { saidBy, utc } from './text.js';
import { linkWords, statusWords, words } from './words.js';

interface Props {
  readonly judgement: Judgement;
  /** Of then, with the checks that stand today alone. */
  readonly links: readonly Link[];
  readonly onTime: (at: number) => void;
  readonly onPlace: (place: Place) => void;
}

export function Checks({ judgement, links, onTime, onPlace }: Props) {
  const [onlyOpen, setOnlyOpen] = useState(false);
  const { was, today, at } = judgement;
  const all = compared(was.checks, today.checks);
  const since = fallen(all);
  const idle = new Set(all.flatMap(({ check }) => (isIdle(was, check) ? [keyOf(check)] : [])));
  return (
    <section aria-labelledby="checks">
      <h2 id="checks">{words.checks}</h2>
      <div class="controls">
        <p>
          <strong>Then</strong>: {words.whenFresh}. <strong>Other time</strong>: {utc(at)} UTC.
        </p>
        <label class="no-print">
          judge also as of (UTC)
          <input
            type="datetime-local"
            value={new Date(1000 * at).toISOString().slice(0, 16)}
            onChange={({ currentTarget }) => {
              const chosen = Date.parse(`${currentTarget.value}Z`);
              if (!Number.isNaN(chosen)) onTime(Math.floor(chosen / 1000));
            }}
          />
        </label>
        <label class="no-print tick">
          <input
            type="checkbox"
            checked={onlyOpen}
            onChange={({ currentTarget }) => setOnlyOpen(currentTarget.checked)}
          />
          only what does not simply hold
        </label>
        <p class="tally">{tallyOf(was.checks, idle.size)}</p>
      </div>
      {since.length > 0 && <Since all={since} />}
      {links.map((link) => (
        <Group key={link.id} {...{ link, all, idle, onlyOpen, onPlace }} />
      ))}
    </section>
  );
}

function Since({ all }: { readonly all: readonly ComparedCheck[] }) {
  const told = eachOnce(all);
  const first = told.slice(0, 3);
  return (
    <div class="since">
      <strong>Since then:</strong>
      <ul>
        {first.map(({ check, today }) => (
          <li key={JSON.stringify([check.id, check.subject])}>
            no longer: “{check.means}” <code>{today!.code}</code>, {saidBy(today!, today!.got)}
          </li>
        ))}
        {told.length > 3 && <li>and {told.length - 3} more</li>}
      </ul>
    </div>
  );
}

/** The causes first, what the bundle as a whole suffers by them last; of equal ones of several sessions the first. */
function eachOnce(all: readonly ComparedCheck[]): readonly ComparedCheck[] {
  const isWhole = ({ check }: ComparedCheck): number => (check.id.startsWith('BUNDLE_') ? 1 : 0);
  const told = new Map<string, ComparedCheck>();
  for (const one of all.toSorted((a, b) => isWhole(a) - isWhole(b))) {
    const key = `${one.today!.code} ${one.today!.got}`;
    if (!told.has(key)) told.set(key, one);
  }
  return [...told.values()];
}

interface GroupProps extends Pick<Props, 'onPlace'> {
  readonly link: Link;
  readonly all: readonly ComparedCheck[];
  /** Keys of those that are met because the job has nothing for them. */
  readonly idle: ReadonlySet<string>;
  readonly onlyOpen: boolean;
}

function Group({ link, all, idle, onlyOpen, onPlace }: GroupProps) {
  const keys = new Set(link.checks.map(keyOf));
  const own = sorted(all.filter(({ check }) => keys.has(keyOf(check))));
  if (own.length === 0) return null;
  const applying = own.filter(({ check }) => !idle.has(keyOf(check)));
  const holding = applying.filter(({ was }) => was?.status === 'met').length;
  const unseen = own.length - applying.length;
  const isAll = own.every(simplyHolds);
  return (
    <details id={`checks-${link.id}`} class="group" open={own.some((one) => !simplyHolds(one))}>
      <summary>
        <span class="name">{linkWords[link.id].name}</span>
        <span class="about">{linkWords[link.id].about}</span>
        <span class="count">
          {holding} of {applying.length} hold{unseen > 0 && `, ${unseen} not applying`}
        </span>
      </summary>
      {onlyOpen && isAll && <p class="note no-print">All hold, then and at the other time.</p>}
      <Rows {...{ all: own, idle, onlyOpen, onPlace }} />
    </details>
  );
}

/** What simply holds is folded where something else does not; left out on the screen it stands on paper all the same. */
function Rows({ all, idle, onlyOpen, onPlace }: Omit<GroupProps, 'link'>) {
  const open = all.filter((one) => !simplyHolds(one));
  const rest = all.filter(simplyHolds);
  const list = (some: readonly ComparedCheck[]) => (
    <ul class="rows">
      {some.map((one) => (
        <Row key={keyOf(one.check)} one={one} isIdle={idle.has(keyOf(one.check))} onPlace={onPlace} />
      ))}
    </ul>
  );
  const paper = onlyOpen ? 'print-only' : undefined;
  if (open.length === 0) return <div class={paper}>{list(rest)}</div>;
  return (
    <>
      {list(open)}
      {rest.length > 0 && (
        <details class={onlyOpen ? 'fold print-only' : 'fold'}>
          <summary>
            {rest.length === 1 ? 'the one that holds' : `the ${rest.length} that hold`}, then and at the other time
          </summary>
          {list(rest)}
        </details>
      )}
    </>
  );
}

interface RowProps extends Pick<Props, 'onPlace'> {
  readonly one: ComparedCheck;
  readonly isIdle: boolean;
}

function Row({ one, isIdle: idle, onPlace }: RowProps) {
  const { check, was, today } = one;
  const shown = was ?? today!;
  const place = placeOf(check);
  return (
    <li class={`row ${shown.status}`}>
      <div class="states">
        <Column title="then" check={was} isIdle={idle} />
        {isSame(one) ? <span class="same">other time: same</span> : <Column title="other time" check={today} />}
      </div>
      <div class="what">
        <p class="means">
          {check.means} {subjectOf(check)}
        </p>
        <p class="rule">
          <code>{shown.code}</code> <span class="demand">{check.rule}</span> <span class="source">{check.source}</span>
        </p>
        <Values check={shown} isFolded={simplyHolds(one)} />
        {!isSame(one) && today !== undefined && was !== undefined && <Values check={today} title="at the other time" />}
        {place !== undefined && (
          <button type="button" class="quiet no-print" onClick={() => onPlace(place)}>
            show the bytes<span class="unseen"> of {shown.code}</span>
          </button>
        )}
      </div>
    </li>
  );
}

interface ColumnProps {
  readonly title: string;
  readonly check: Check | undefined;
  readonly isIdle?: boolean;
}

function Column({ title, check, isIdle: idle = false }: ColumnProps) {
  if (check === undefined) return <span class="same">{title}: no such check</span>;
  return (
    <span class="column">
      <span class="when">{title}</span>{' '}
      <State kind={idle ? 'idle' : check.status} {...(idle ? words.idle : statusWords[check.status])} />
    </span>
  );
}

interface ValuesProps {
  readonly check: Check;
  readonly title?: string;
  readonly isFolded?: boolean;
}

function Values({ check, title, isFolded = false }: ValuesProps) {
  if (isFolded) {
    return (
      <details class="fold">
        <summary>
          expected and got<span class="unseen"> for {check.code}</span>
        </summary>
        <Values check={check} />
      </details>
    );
  }
  return (
    <>
      {title !== undefined && <p class="when">{title}</p>}
      <dl class="values">
        {check.expected !== '' && (
          <div>
            <dt>expected</dt>
            <dd>{saidBy(check, check.expected)}</dd>
          </div>
        )}
        <div>
          <dt>got</dt>
          <dd>{saidBy(check, check.got)}</dd>
        </div>
        {check.action !== '' && (
          <div>
            <dt>what to do</dt>
            <dd>
              <WithCode text={check.action} />
            </dd>
          </div>
        )}
      </dl>
    </>
  );
}

function subjectOf({ subject }: Check) {
  if (typeof subject !== 'object') return null;
  const gpu = 'gpu' in subject ? `, GPU ${subject.gpu}` : '';
  return <span class="subject">{`session ${subject.session}${gpu}`}</span>;
}

function tallyOf(checks: readonly Check[], idle: number): string {
  const count = (...statuses: readonly Check['status'][]): number =>
    checks.filter(({ status }) => statuses.includes(status)).length;
  const parts = [
    [count('met') - idle, '✓ hold'],
    [idle, '· do not apply'],
    [count('warned'), '! remarks'],
    [count('missing', 'not-checked'), '? not decided'],
    [count('refused', 'forged'), '✕ broken'],
  ] as const;
  return `${checks.length} checks: ${parts
    .filter(([some]) => some > 0)
    .map(([some, what]) => `${some} ${what}`)
    .join(', ')}`;
}
