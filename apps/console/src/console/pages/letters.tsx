/** Messages of nodes that could not be taken, and handling one again once the cause is mended. */
import { plain } from '../../reviewer/text.js';
import { State } from '../../ui/state.js';
import { tell } from '../api.js';
import { size, utcOf } from '../figures.js';
import { List } from '../list.js';
import { useLoad } from '../load.js';
import { pageQuery } from '../pager.js';
import { Act, Head } from '../parts.js';
import type { DeadLetter, Page } from '../types.js';
import { words } from '../words.js';

export function DeadLetters({ query }: { readonly query: URLSearchParams }) {
  const letters = useLoad<Page<DeadLetter>>(`/v1/dead-letters?${pageQuery(query)}`, 10_000);
  return (
    <>
      <Head title="Dead letters" />
      <p class="lead">{words.letters}</p>
      <List
        of={letters}
        label="dead letters"
        columns={['When', 'Message', 'Sender', 'Why', 'Size', 'Handled again']}
        none="None"
        whenNone={<p>Every message that came could be taken.</p>}
        at={['/letters', query]}
        row={(letter) => <Row key={letter.id} of={letter} reload={letters.reload} />}
      />
    </>
  );
}

interface RowProps {
  readonly of: DeadLetter;
  readonly reload: () => void;
}

function Row({ of: letter, reload }: RowProps) {
  const { id, at, source, pattern, actor, code, reason, bytes, replayable, replayedAt, replayCode } = letter;
  const text = (name: string): string => {
    const value = (reason as Readonly<Record<string, unknown>> | null)?.[name];
    return typeof value === 'string' ? plain(value) : '';
  };
  return (
    <tr>
      <td>
        <time dateTime={at}>{utcOf(at)}</time>
      </td>
      <th scope="row" class="wide">
        <code>{plain(pattern) || 'none'}</code> <span class="note">over {source}</span>
      </th>
      <td>{actor === null ? 'nobody that is known' : plain(actor)}</td>
      <td class="wide">
        <code>{plain(code)}</code>
        {text('expected') !== '' && (
          <span class="found">
            Expected {text('expected')}; got {text('got') || 'nothing'}.
          </span>
        )}
      </td>
      <td class="number">{size(bytes)}</td>
      <td>
        {replayedAt !== null && <Replayed code={replayCode} />}
        {replayable && (
          <Act
            label="Handle again"
            question="It counts as if its sender sent it now."
            yes="Handle it"
            act={async () => {
              await tell('POST', `/v1/dead-letters/${id}/replay`);
              reload();
            }}
          />
        )}
        {!replayable && replayedAt === null && <span class="note">can only be read</span>}
      </td>
    </tr>
  );
}

function Replayed({ code }: { readonly code: string | null }) {
  return code === 'ok' ? (
    <State kind="done" mark="✓" word="taken" />
  ) : (
    <State kind="refused" mark="✕" word={plain(code ?? 'not known')} />
  );
}
