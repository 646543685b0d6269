/** The commands that do what the form says: nothing in them comes from anybody but whoever reads them. */
import type { DataWish } from '../plan.js';

/** The smallest there is. */
export const exampleCommand = 'npx veritrain example run table-classes';

/** What a client does with a job that is delivered. */
export const resultCommand = (id: string): string => `npx veritrain job result ${quoted(id)} --out result`;
export const settleCommand = (id: string): string => `npx veritrain job settle ${quoted(id)}`;

/** Of the profile that `npm run serve` writes. */
export const policyCommand = 'npx veritrain policy check .veritrain/up/policy.json';

export interface Order {
  readonly data: string;
  /** Of a table: the column to predict. */
  readonly target: string;
  /** Where the key broker reads data keys. */
  readonly keys: string;
  readonly assurance: 'tee' | 'zk' | 'tee+zk';
  readonly onLapse: boolean;
  /** Ether, decimal. */
  readonly reward: string;
  /** Account; empty: as the profile says. */
  readonly provider: string;
}

interface Line {
  readonly label: string;
  readonly text: string;
}

/** Within single quotes a shell takes everything as it stands. */
const quoted = (text: string): string => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

export function commandsOf(wish: DataWish, order: Order, hasManifest: boolean): readonly Line[] {
  const data = quoted(order.data.trim() === '' ? 'data.csv' : order.data.trim());
  const reward = /^\d+(\.\d{1,18})?$/.test(order.reward) ? order.reward : '1';
  const provider = /^0x[0-9a-f]{40}$/.test(order.provider) ? [`--provider ${order.provider}`] : [];
  const init = [
    `npx veritrain model init --from ${data} --out model`,
    ...(wish.kind === 'table' ? [`--target ${quoted(order.target.trim() || 'label')}`] : []),
    `--epochs ${wish.epochs}`,
    ...(wish.arch === '' ? [] : [`--arch ${wish.arch}`]),
  ];
  const seal = [
    'npx veritrain dataset seal --manifest model/manifest.json',
    `--data ${data} --out sealed`,
    ...(order.assurance !== 'tee' || order.onLapse ? ['--provable'] : []),
    `--key ${quoted(`${order.keys.trim().replace(/\/+$/, '') || 'data-keys'}/${nameOf(order.data)}.json`)}`,
  ];
  const submit = [
    'npx veritrain job submit --manifest model/manifest.json',
    '--dataset sealed',
    `--assurance ${order.assurance}`,
    ...(order.assurance === 'tee' && order.onLapse ? ['--on-lapse zk'] : []),
    `--reward ${reward}`,
    ...provider,
  ];
  return [
    ...(hasManifest ? [] : [{ label: 'Look at your data and plan the model', text: inLines(init) }]),
    { label: 'Check what was planned', text: 'npx veritrain model check model/manifest.json' },
    { label: 'Seal the data, and give its key to your key broker', text: inLines(seal) },
    { label: 'Submit the job and fund its escrow', text: inLines(submit) },
  ];
}

/** Of a key: as the file or folder is called. */
const nameOf = (path: string): string => /([^/]+?)(\.[^./]*)?\/*$/.exec(path.trim())?.[1] ?? 'data';

const inLines = (parts: readonly string[]): string => parts.join(' \\\n  ');
