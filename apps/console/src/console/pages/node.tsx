/** One node: what it says of itself, and whether it is given jobs. */
import { Digest } from '../../ui/copy.js';
import { ether, plain } from '../../reviewer/text.js';
import { counted, utcOf } from '../figures.js';
import { useLoad } from '../load.js';
import { Ago, Facts, Head, Shown } from '../parts.js';
import { Link } from '../router.js';
import type { Me, Node } from '../types.js';
import { words } from '../words.js';
import { AppraisalsOf } from './appraisals.js';
import { NodeState, Scheduling } from './nodes.js';
import { PreflightsOf } from './preflights.js';

interface Props {
  readonly id: string;
  readonly me: Me;
}

export function NodePage({ id, me }: Props) {
  const isWithin = me.role === 'operator' || (me.role === 'admin' && me.tenant === null);
  const node = useLoad<Node>(`/v1/nodes/${encodeURIComponent(id)}`, 3000);
  return (
    <>
      <p class="crumbs">
        <Link to="/nodes">Nodes</Link> / {node.data === undefined ? '…' : plain(node.data.name)}
      </p>
      <Shown of={node}>
        {(data) => (
          <>
            <Head
              title={
                <>
                  {plain(data.name)} <NodeState node={data} />
                </>
              }
            >
              {isWithin && <Scheduling node={data} reload={node.reload} />}
            </Head>
            <About node={data} />
            {isWithin && <AppraisalsOf nodeId={id} />}
            {isWithin && <PreflightsOf nodeId={id} />}
          </>
        )}
      </Shown>
    </>
  );
}

function About({ node }: { readonly node: Node }) {
  const { tee, cores, memoryMiB, tcb, priceMin, version } = node.capabilities;
  return (
    <section aria-labelledby="about">
      <h2 id="about">What it says of itself</h2>
      {tee.startsWith('simulated') && <p class="since waits">{words.simulated}</p>}
      <Facts
        rows={[
          ['Node', <Digest value={node.id} label="the node’s id" />],
          ['Paid to', <Digest value={node.provider} label="the provider’s account" />],
          ['Hardware', `${plain(tee)}, ${counted(cores, 'core')}, ${Math.round(memoryMiB / 1024)} GiB`],
          ['Firmware', tcb === undefined ? 'not said' : plain(tcb)],
          ['Least price', priceMin === undefined ? 'not said' : ether(priceMin)],
          ['Release', plain(version)],
          ['Last seen', <Ago at={node.lastSeenAt} />],
          ...(node.leases === null ? [] : [['Jobs that it has', String(node.leases)] as const]),
          ['Known since', utcOf(node.createdAt)],
        ]}
      />
    </section>
  );
}
