/** Sealed data sets of a tenant: how much is here, and taking one away. */
import { Digest } from '../../ui/copy.js';
import { grouped } from '../../reviewer/text.js';
import { tell } from '../api.js';
import { ago, size } from '../figures.js';
import { useLoad } from '../load.js';
import { Pager, pageQuery } from '../pager.js';
import { Act, Command, Empty, Head, Scroll, Shown } from '../parts.js';
import type { Dataset, Page } from '../types.js';

interface Props {
  readonly query: URLSearchParams;
}

export function Datasets({ query }: Props) {
  const sets = useLoad<Page<Dataset>>(`/v1/datasets?${pageQuery(query)}`, 5000);
  return (
    <>
      <Head title="Data" />
      <p class="lead">
        Encrypted shards, sealed on your machine. The control plane has no key to them: it goes from your key broker to
        an attested enclave alone.
      </p>
      <Shown of={sets}>
        {({ items, nextCursor }) =>
          items.length === 0 ? (
            <None />
          ) : (
            <section>
              <Table items={items} reload={sets.reload} />
              <Pager to="/data" query={query} next={nextCursor} />
            </section>
          )
        }
      </Shown>
    </>
  );
}

function None() {
  return (
    <Empty title="No data sets yet">
      <p>
        Seal one on your machine; <code>veritrain job submit</code> then brings it here, encrypted.
      </p>
      <Command label="plan a model for your data" text="npx veritrain model init --from data.csv --out model" />
      <Command
        label="seal your data"
        text={[
          'npx veritrain dataset seal --manifest model/manifest.json \\',
          '  --data data.csv --out sealed --key data.key',
        ].join('\n')}
      />
    </Empty>
  );
}

interface TableProps {
  readonly items: readonly Dataset[];
  readonly reload: () => void;
}

function Table({ items, reload }: TableProps) {
  return (
    <Scroll label="data sets">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Data set</th>
            <th scope="col">Rows</th>
            <th scope="col">Size, encrypted</th>
            <th scope="col">Here</th>
            <th scope="col">Registered</th>
            <th scope="col">Change</th>
          </tr>
        </thead>
        <tbody>
          {items.map(({ id, records, bytes, shards, uploaded, createdAt }) => (
            <tr key={id}>
              <th scope="row">
                <Digest value={id} label={`the id of data set ${id.slice(0, 10)}`} />
              </th>
              <td class="number">{grouped(records)}</td>
              <td class="number">{size(bytes)}</td>
              <td>{uploaded === shards ? 'all of it' : `${uploaded} of ${shards} shards`}</td>
              <td>
                <time dateTime={createdAt}>{ago(createdAt)}</time>
              </td>
              <td>
                <Act
                  label="Delete"
                  question="Its shards are taken away for good."
                  yes="Delete it"
                  act={async () => {
                    await tell('DELETE', `/v1/datasets/${id}`);
                    reload();
                  }}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
