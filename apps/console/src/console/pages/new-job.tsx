/**
 * A job, planned without a specification: what the data is, what the model should be, what vouches for it, what it pays.
 * The planner of the command line chooses and says why; signing stays with whoever has the keys, on their machine.
 */
import { useMemo, useState } from 'preact/hooks';
import { duration, ether, grouped, plain } from '../../reviewer/text.js';
import { useDraft } from '../draft.js';
import { Command, Facts, Fault, Head } from '../parts.js';
import { size } from '../figures.js';
import { useLoad } from '../load.js';
import { exampleOf, planOf, readManifest, type Check, type DataWish } from '../plan.js';
import type { Node, Page } from '../types.js';
import { Assumed } from './assumed.js';
import { commandsOf, policyCommand, type Order } from './commands.js';
import { problemOf } from '../api.js';

const usualWish: DataWish = {
  ...{ kind: 'table', rows: 0, columns: 0, side: 0, context: 0, vocabulary: 0, outputs: 0 },
  ...{ target: 'class', epochs: 10, arch: '' },
};
const usualOrder: Order = {
  ...{ data: 'data.csv', target: 'label', keys: '.veritrain/up/data-keys' },
  ...{ assurance: 'tee', onLapse: false, reward: '1', provider: '' },
};

export function NewJob() {
  const [wish, setWish] = useDraft('veritrain job: data and model', usualWish);
  const [manifest, setManifest] = useState<Manifest>();
  const [order, setOrder] = useDraft('veritrain job: price and trust', usualOrder);
  const nodes = useLoad<Page<Node>>('/v1/nodes?limit=200');
  const check = useMemo(() => checked(wish, manifest?.text), [wish, manifest]);
  return (
    <>
      <Head title="New job" />
      <p class="lead">
        Say what you have and what you want. This page plans and estimates; the commands at the end do it on your
        machine, where your data, its key and your account are. It never asks for any of them.
      </p>
      <form onSubmit={(event) => event.preventDefault()}>
        <section aria-labelledby="step-data">
          <h2 id="step-data">1. Data and model</h2>
          {manifest === undefined ? (
            <Wish wish={wish} onWish={setWish} order={order} onOrder={setOrder} />
          ) : (
            <p>
              Judged by <strong>{plain(manifest.name)}</strong>.{' '}
              <button type="button" onClick={() => setManifest(undefined)}>
                Plan by the form instead
              </button>
            </p>
          )}
          <Brought onManifest={setManifest} />
        </section>
        <section aria-labelledby="step-check" aria-live="polite">
          <h2 id="step-check">2. What comes of it</h2>
          {'fault' in check ? <Fault problem={check.fault} /> : <Checked check={check} reward={order.reward} />}
          {manifest === undefined && <Assumed wish={wish} />}
        </section>
        <section aria-labelledby="step-trust">
          <h2 id="step-trust">3. What vouches for it</h2>
          <Trust order={order} onOrder={setOrder} check={'fault' in check ? undefined : check} />
        </section>
        <section aria-labelledby="step-price">
          <h2 id="step-price">4. Price and provider</h2>
          <Price order={order} onOrder={setOrder} nodes={nodes.data?.items ?? []} />
        </section>
      </form>
      <section aria-labelledby="step-do">
        <h2 id="step-do">5. Do it</h2>
        <p class="note">
          In this order, on your machine. Your key broker reads the data’s key from its folder, and releases it to
          attested machines alone. The last one shows the terms, uploads what is encrypted, and signs with your account;
          the job then appears under Jobs.
        </p>
        {commandsOf(wish, order, manifest !== undefined).map(({ label, text }) => (
          <div key={label}>
            <h3>{label}</h3>
            <Command label={label} text={text} />
          </div>
        ))}
      </section>
    </>
  );
}

interface Manifest {
  readonly name: string;
  readonly text: string;
}

function Brought({ onManifest }: { readonly onManifest: (manifest: Manifest) => void }) {
  return (
    <p class="controls">
      <label class="button">
        Check a manifest of yours…
        <input
          type="file"
          class="unseen"
          aria-label="Check a manifest of yours"
          accept=".json"
          onChange={({ currentTarget: { files } }) => {
            const file = files?.[0];
            if (file !== undefined) void file.text().then((text) => onManifest({ name: file.name, text }));
          }}
        />
      </label>
      <span class="note">
        <code>veritrain model init</code> or <code>model import</code> writes one from your data.
      </span>
    </p>
  );
}

function checked(
  wish: DataWish,
  manifest: string | undefined,
): Check | { readonly fault: ReturnType<typeof problemOf> } {
  try {
    return manifest === undefined ? planOf(wish) : readManifest(manifest);
  } catch (error) {
    const coded = error as { code?: unknown; detail?: { expected?: string; got?: string; action?: string } };
    if (typeof coded.code !== 'string') return { fault: problemOf(error) };
    const { expected = '', got = '', action = '' } = coded.detail ?? {};
    return { fault: { status: 0, code: coded.code, expected, got, action } };
  }
}

interface WishProps {
  readonly wish: DataWish;
  readonly onWish: (wish: DataWish) => void;
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
}

/** Of an empty field. */
const notSaid = (name: keyof DataWish): number => (name in exampleOf ? 0 : 1);

function Wish({ wish, onWish, order, onOrder }: WishProps) {
  const number = (name: keyof DataWish, label: string, min = 1) => (
    <label>
      {label}
      <input
        type="number"
        min={min}
        max={1_000_000_000}
        value={wish[name] === 0 ? '' : wish[name]}
        placeholder={name in exampleOf ? `for example ${exampleOf[name as keyof typeof exampleOf]}` : ''}
        onInput={({ currentTarget: { value } }) =>
          onWish({ ...wish, [name]: value === '' ? notSaid(name) : Math.max(min, Math.floor(Number(value))) })
        }
      />
    </label>
  );
  return (
    <div class="fields-in-a-row">
      <label>
        Your data
        <select
          value={wish.kind}
          onChange={({ currentTarget: { value } }) => onWish({ ...wish, kind: value as DataWish['kind'], arch: '' })}
        >
          <option value="table">a table (CSV, Parquet)</option>
          <option value="pictures">pictures</option>
          <option value="text">text</option>
        </select>
      </label>
      <Places isTable={wish.kind === 'table'} order={order} onOrder={onOrder} />
      {number('rows', wish.kind === 'text' ? 'Pieces of text' : 'Rows')}
      {wish.kind === 'table' && number('columns', 'Columns')}
      {wish.kind === 'pictures' && number('side', 'Pixels across', 4)}
      {wish.kind === 'text' && number('context', 'Tokens of context', 2)}
      {wish.kind === 'text' && number('vocabulary', 'Different tokens', 2)}
      {wish.kind !== 'text' && (
        <label>
          It learns
          <select
            value={wish.target}
            onChange={({ currentTarget: { value } }) => onWish({ ...wish, target: value as DataWish['target'] })}
          >
            <option value="class">a class</option>
            <option value="real">a number</option>
          </select>
        </label>
      )}
      {wish.kind !== 'text' && wish.target === 'class' && number('outputs', 'Classes', 2)}
      <label>
        Model
        <select
          value={wish.arch}
          onChange={({ currentTarget: { value } }) => onWish({ ...wish, arch: value as DataWish['arch'] })}
        >
          <option value="">chosen for the data</option>
          {wish.kind !== 'text' && <option value="linear">linear</option>}
          {wish.kind !== 'text' && <option value="mlp">dense layers</option>}
          {wish.kind === 'pictures' && <option value="cnn">convolutions</option>}
          {wish.kind === 'text' && <option value="transformer">transformer</option>}
        </select>
      </label>
      {number('epochs', 'Passes over the data')}
    </div>
  );
}

interface PlacesProps {
  readonly isTable: boolean;
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
}

/** On the machine of whoever runs the commands. */
function Places({ isTable, order, onOrder }: PlacesProps) {
  const field = (name: 'data' | 'target' | 'keys', label: string) => (
    <label>
      {label}
      <input
        value={order[name]}
        maxLength={200}
        onInput={({ currentTarget: { value } }) => onOrder({ ...order, [name]: value })}
      />
    </label>
  );
  return (
    <>
      {field('data', 'File or folder')}
      {isTable && field('target', 'Column to predict')}
      {field('keys', 'Your key broker’s data keys')}
    </>
  );
}

/** The words of `model check`. */
function Checked({ check, reward }: { readonly check: Check; readonly reward: string }) {
  const { parameters, seconds, slowSeconds, memoryBytes, steps, batch, why, reasons } = check;
  const hours = slowSeconds / 3600;
  const paid = Number(reward);
  return (
    <>
      <Facts
        rows={[
          ['Parameters', grouped(parameters)],
          ['Steps', `${grouped(steps)} of ${grouped(batch)} rows`],
          ['Time on one thread', `about ${duration(Math.max(1, Math.round(seconds)))}`],
          ['On a slow machine', `up to ${duration(Math.max(1, Math.round(slowSeconds)))}`],
          ['Memory', size(memoryBytes)],
          [
            'You offer',
            paid > 0 && hours > 0
              ? `${reward} ETH, ${(paid / hours).toPrecision(3)} ETH an hour at most`
              : `${reward} ETH`,
          ],
          ['Step proofs', reasons.length === 0 ? 'may cover it' : 'cannot cover it: a machine must be attested'],
        ]}
      />
      {why.length > 0 && (
        <ul class="why-list">
          {why.map((sentence) => (
            <li key={sentence}>{plain(sentence)}</li>
          ))}
        </ul>
      )}
      {reasons.length > 0 && (
        <details>
          <summary>Why step proofs cannot cover it</summary>
          <ul class="why-list">
            {reasons.map((reason) => (
              <li key={reason}>{plain(reason)}</li>
            ))}
          </ul>
        </details>
      )}
      <p class="note">Estimates from the shape of the model alone; your machine and your data decide.</p>
    </>
  );
}

interface TrustProps {
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
  readonly check: Check | undefined;
}

const ways = {
  tee: [
    'An attested machine',
    'It signs every segment. Fast; you believe the maker of its processor and its firmware.',
  ],
  zk: ['Proofs of every step', 'No machine needs to be believed. Slow, and the prover sees the data.'],
  'tee+zk': ['Both', 'An attested machine trains, and every step is proved besides.'],
} as const;

function Trust({ order, onOrder, check }: TrustProps) {
  const isProvable = check === undefined || check.reasons.length === 0;
  return (
    <>
      <fieldset class="choices">
        <legend class="unseen">What vouches for it</legend>
        {(Object.keys(ways) as (keyof typeof ways)[]).map((way) => (
          <label key={way} class="choice">
            <input
              type="radio"
              name="assurance"
              checked={order.assurance === way}
              disabled={way !== 'tee' && !isProvable}
              onChange={() => onOrder({ ...order, assurance: way })}
            />
            <span>
              <strong>{ways[way][0]}</strong>
              <span class="note">
                {ways[way][1]}
                {way !== 'tee' && !isProvable && ' Step proofs cannot cover this model.'}
              </span>
            </span>
          </label>
        ))}
      </fieldset>
      {order.assurance === 'tee' && isProvable && (
        <label class="choice">
          <input
            type="checkbox"
            checked={order.onLapse}
            onChange={({ currentTarget: { checked: onLapse } }) => onOrder({ ...order, onLapse })}
          />
          <span>
            <strong>Finish by proofs if its attestation lapses</strong>
            <span class="note">Otherwise another attested machine goes on from the last checkpoint.</span>
          </span>
        </label>
      )}
      <h3>What the policy of your profile demands</h3>
      <p class="note">
        This page has not read it: which programs, chips and firmware it accepts stands in the file that{' '}
        <code>policy</code> of your profile names. Read it before you submit: it decides whether simulated hardware
        counts.
      </p>
      <Command label="what your policy demands, and what it does not" text={policyCommand} />
      <h3>What no policy demands</h3>
      <ul class="why-list">
        <li>That the model is good: look at what it was measured on.</li>
        <li>That the data is what its owner says: the evidence names its digest.</li>
      </ul>
    </>
  );
}

interface PriceProps {
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
  readonly nodes: readonly Node[];
}

function Price({ order, onOrder, nodes }: PriceProps) {
  const offers = nodes.filter(({ online, state }) => online && state === 'ready');
  return (
    <>
      <div class="fields-in-a-row">
        <label>
          You pay, in ether
          <input
            inputMode="decimal"
            pattern="[0-9]+(\.[0-9]{1,18})?"
            value={order.reward}
            onInput={({ currentTarget: { value } }) => onOrder({ ...order, reward: value })}
          />
        </label>
        <label>
          Provider
          <select
            value={order.provider}
            onChange={({ currentTarget: { value } }) => onOrder({ ...order, provider: value })}
          >
            <option value="">the first of your profile</option>
            {offers.map(({ id, name, provider, capabilities }) => (
              <option key={id} value={provider}>
                {plain(name)} ({plain(capabilities.tee)}
                {capabilities.priceMin === undefined ? '' : `, from ${ether(capabilities.priceMin)}`})
              </option>
            ))}
          </select>
        </label>
      </div>
      <p class="note">
        {offers.length === 0 && 'No node is ready now: a job waits until one is. '}
        The money lies in an escrow on the chain. It is paid for a delivery whose seal the contract accepts, and comes
        back to you where none comes in time.
      </p>
    </>
  );
}
