/** Tenants: what each has beside how much it may have, and setting that. */
import { useState } from 'preact/hooks';
import { grouped, plain } from '../../reviewer/text.js';
import { problemOf, tell, type Problem } from '../api.js';
import { size } from '../figures.js';
import { useLoad } from '../load.js';
import { Pager, pageQuery } from '../pager.js';
import { Empty, Fault, Head, Scroll, Shown } from '../parts.js';
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
      <Shown of={tenants}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <Empty title="No tenants yet">
              <p>Make a key for one under Keys.</p>
            </Empty>
          ) : (
            <section>
              <Table items={items} onChoose={setChosen} />
              <Pager to="/tenants" query={query} next={nextCursor} />
            </section>
          )
        }
      </Shown>
    </>
  );
}

interface TableProps {
  readonly items: readonly Tenant[];
  readonly onChoose: (tenant: Tenant) => void;
}

function Table({ items, onChoose }: TableProps) {
  return (
    <Scroll label="tenants">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Tenant</th>
            <th scope="col">Keys</th>
            <th scope="col">Jobs waiting</th>
            <th scope="col">Jobs under way</th>
            <th scope="col">Data, encrypted</th>
            <th scope="col">Limits</th>
            <th scope="col">Change</th>
          </tr>
        </thead>
        <tbody>
          {items.map((one) => (
            <tr key={one.tenant}>
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
          ))}
        </tbody>
      </table>
    </Scroll>
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
