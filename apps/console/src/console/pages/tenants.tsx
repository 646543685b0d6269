/** Tenants: what each has beside how much it may have, and setting that. */
import { useState } from 'preact/hooks';
import { grouped, plain } from '../../reviewer/text.js';
import { problemOf, tell, type Problem } from '../api.js';
import { size } from '../figures.js';
import { List } from '../list.js';
import { useLoad } from '../load.js';
import { pageQuery } from '../pager.js';
import { Fault, Head } from '../parts.js';
import type { Page, Tenant } from '../types.js';

export function Tenants({ query }: { readonly query: URLSearchParams }) {
  const tenants = useLoad<Page<Tenant>>(`/v1/tenants?${pageQuery(query)}`, 5000);
  const [chosen, setChosen] = useState<Tenant>();
  return (
    <>
      <Head title="Tenants" />
      <p class="lead">
        A tenant is there from its first key on. Limits hold from the next job or data set; what is there stays.
      </p>
      {chosen !== undefined && (
        <Limits
          key={chosen.tenant}
          of={chosen}
          onDone={() => {
            setChosen(undefined);
            tenants.reload();
          }}
        />
      )}
      <List
        of={tenants}
        label="tenants"
        columns={['Tenant', 'Keys', 'Jobs waiting', 'Jobs under way', 'Data, encrypted', 'Limits', 'Change']}
        none="No tenants yet"
        whenNone={<p>Make a key for one under Keys.</p>}
        at={['/tenants', query]}
        row={(one) => <Row key={one.tenant} of={one} onChoose={setChosen} />}
      />
    </>
  );
}

interface RowProps {
  readonly of: Tenant;
  readonly onChoose: (tenant: Tenant) => void;
}

function Row({ of: one, onChoose }: RowProps) {
  return (
    <tr>
      <th scope="row">{plain(one.tenant)}</th>
      <td class="number">{grouped(one.keys)}</td>
      <td>
        <Used has={one.jobsWaiting} may={one.jobsWaitingMax} show={grouped} label="jobs waiting" />
      </td>
      <td>
        <Used has={one.jobsUnderWay} may={one.jobsUnderWayMax} show={grouped} label="jobs under way" />
      </td>
      <td>
        <Used has={one.datasetBytes} may={one.datasetBytesMax} show={size} label="data" />
      </td>
      <td>{one.ownLimits ? 'its own' : 'as for all'}</td>
      <td>
        <button type="button" onClick={() => onChoose(one)} aria-label={`limits of ${plain(one.tenant)}`}>
          Limits…
        </button>
      </td>
    </tr>
  );
}

interface UsedProps {
  readonly has: number;
  readonly may: number;
  readonly show: (value: number) => string;
  readonly label: string;
}

function Used({ has, may, show, label }: UsedProps) {
  return (
    <span class="done number">
      <progress max={Math.max(1, may)} value={Math.min(has, may)} aria-label={`${label}, of what it may have`} />
      {show(has)} of {show(may)}
    </span>
  );
}

const gigabyte = 1e9;

function Limits({ of, onDone }: { readonly of: Tenant; readonly onDone: () => void }) {
  const [problem, setProblem] = useState<Problem>();
  const set = (wanted: object): void => {
    tell('POST', `/v1/tenants/${encodeURIComponent(of.tenant)}/limits`, wanted).then(onDone, (error: unknown) =>
      setProblem(problemOf(error)),
    );
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    set({
      jobsWaitingMax: Number(fields.get('waiting')),
      jobsUnderWayMax: Number(fields.get('underWay')),
      datasetBytesMax: Math.round(Number(fields.get('data')) * gigabyte),
    });
  };
  return (
    <section aria-labelledby="limits">
      <h2 id="limits">Limits of {plain(of.tenant)}</h2>
      <form class="fields-in-a-row" onSubmit={submit}>
        <label>
          Jobs waiting
          <input name="waiting" type="number" min={0} max={10_000_000} required value={of.jobsWaitingMax} />
        </label>
        <label>
          Jobs under way
          <input name="underWay" type="number" min={0} max={10_000_000} required value={of.jobsUnderWayMax} />
        </label>
        <label>
          Data, in GB
          <input name="data" type="number" min={0} step="any" required value={of.datasetBytesMax / gigabyte} />
        </label>
        <button type="submit" class="primary">
          Set them
        </button>
        <button type="button" onClick={() => set({})}>
          As for all tenants
        </button>
        <button type="button" onClick={onDone}>
          Leave them
        </button>
      </form>
      {problem !== undefined && <Fault problem={problem} />}
    </section>
  );
}
