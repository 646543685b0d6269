/** Sealed data sets of a tenant: how much is here, and taking one away. */
import { Digest } from '../../ui/copy.js';
import { grouped } from '../../reviewer/text.js';
import { tell } from '../api.js';
import { size } from '../figures.js';
import { List } from '../list.js';
import { useLoad } from '../load.js';
import { pageQuery } from '../pager.js';
import { Act, Ago, Command, Head } from '../parts.js';
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
      <List
        of={sets}
        label="data sets"
        columns={['Data set', 'Rows', 'Size, encrypted', 'Here', 'Registered', 'Change']}
        none="No data sets yet"
        whenNone={<None />}
        at={['/data', query]}
        row={(one) => <Row key={one.id} of={one} reload={sets.reload} />}
      />
    </>
  );
}

function None() {
  return (
    <>
      <p>
        Seal one on your machine; <code>veritrain job submit</code> then brings it here, encrypted. Its key goes where
        your key broker reads data keys.
      </p>
      <Command
        label="plan a model for your data"
        text="npx veritrain model init --from data.csv --target label --out model"
      />
      <Command
        label="seal your data"
        text={[
          'npx veritrain dataset seal --manifest model/manifest.json \\',
          '  --data data.csv --out sealed \\',
          '  --key .veritrain/up/data-keys/data.json',
        ].join('\n')}
      />
    </>
  );
}

interface RowProps {
  readonly of: Dataset;
  readonly reload: () => void;
}

function Row({ of: { id, records, bytes, shards, uploaded, createdAt }, reload }: RowProps) {
  return (
    <tr>
      <th scope="row">
        <Digest value={id} label={`the id of data set ${id.slice(0, 10)}`} />
      </th>
      <td class="number">{grouped(records)}</td>
      <td class="number">{size(bytes)}</td>
      <td>{uploaded === shards ? 'all of it' : `${uploaded} of ${shards} shards`}</td>
      <td>
        <Ago at={createdAt} />
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
  );
}
