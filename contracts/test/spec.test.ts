/** The specification says what the code does, where a table can be compared with it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const folder = join(import.meta.dirname, '..');
const spec = readFileSync(join(folder, 'SPEC.md'), 'utf8');
const sources = readdirSync(join(folder, 'src'), { recursive: true })
  .map(String)
  .filter((name) => name.endsWith('.sol'))
  .map((name) => readFileSync(join(folder, 'src', name), 'utf8'))
  .join('\n');
const named = (pattern: RegExp, text = sources): string[] => [...text.matchAll(pattern)].map(([, name]) => name!);

interface AbiEntry {
  readonly type: string;
  readonly name?: string;
  readonly stateMutability?: string;
}
interface Artefact {
  readonly abi: readonly AbiEntry[];
  readonly deployedBytecodeDigest: string;
}

const json = <T>(path: string): T => JSON.parse(readFileSync(join(folder, path), 'utf8')) as T;
const settlement = json<Artefact>('abi/Settlement.json').abi;

/** From one heading to the next. */
function section(number: string): string {
  const from = spec.indexOf(`\n## ${number}. `);
  expect(from, `section ${number}`).toBeGreaterThan(0);
  return spec.slice(from, spec.indexOf('\n## ', from + 1));
}

/** Cells of the rows of all tables of a section, without their heads. */
const rows = (text: string): string[][] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('|') && !line.startsWith('| --'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

it('explains every custom error', () => {
  const errors = named(/^\s*error (\w+)\(/gm);
  expect(errors.length).toBeGreaterThan(90);
  expect(errors.filter((name) => !spec.includes(`| \`${name}\``))).toEqual([]);
});

it('explains no error that is gone', () => {
  const errors = new Set(named(/^\s*error (\w+)\(/gm));
  const explained = [...spec.matchAll(/^\| `([A-Z0-9_]+)` +\|/gm)].map(([, name]) => name!);
  expect(explained.filter((name) => !errors.has(name))).toEqual([]);
});

it('has a row for every call of Settlement that changes something, and for no other', () => {
  const calls = settlement
    .filter(({ type, stateMutability }) => type === 'function' && /^(non)?payable$/.test(stateMutability!))
    .map(({ name }) => name!);
  const table = rows(section('6'));
  const told = table.slice(1).flatMap(([call]) => call!.split(' / ').map((name) => name.replace(/\(.*/, '')));
  expect(told.toSorted()).toEqual(calls.toSorted());
});

it('draws every state, and its table ends in each', () => {
  const states = /enum State \{([^}]*)\}/
    .exec(sources)![1]!
    .replaceAll(/\/\/.*/g, '')
    .split(',')
    .map((name) => name.trim());
  const text = section('6');
  const drawn = new Set(named(/\b([A-Z][a-z]+)\b/g, text.slice(0, text.indexOf('| call'))));
  expect(states.filter((name) => name !== 'None' && !drawn.has(name))).toEqual([]);
  const arrows = rows(text).map(([, way]) => way!.split('→').at(-1)!);
  const ends = states.slice(states.indexOf('Committed') + 1);
  expect(ends.filter((name) => !arrows.some((to) => to.includes(name)))).toEqual([]);
});

it('lists every contract with an artefact, and sends each row of the threats to a section that is there', () => {
  const contracts = readdirSync(join(folder, 'abi')).map((name) => name.replace('.json', ''));
  const text = section('4');
  expect(contracts.filter((name) => !text.includes(`\`${name}\``) && !text.includes(`\`${name}(`))).toEqual([]);
  const threats = rows(section('14')).slice(1);
  expect(threats.length).toBeGreaterThan(20);
  const sections = threats.flatMap(([, , where]) => where!.match(/^\d+|(?<=, )\d+/g) ?? []);
  for (const number of sections) section(number);
});

/** 1,234,567 as the tables write it: 1.23 M, 127 k. */
function rounded(gas: number): string {
  return gas < 1_000_000 ? `${Math.round(gas / 1000)} k` : `${(gas / 1_000_000).toFixed(2)} M`;
}

it('says the gas of the snapshots', () => {
  const measured = json<Record<string, string>>('snapshots/settlement.json');
  const groth16 = json<Record<string, { gasBesideCalldata: number }>>('snapshots/groth16-settle-gas.json');
  const names: Readonly<Record<string, string>> = {
    'open, ERC-20': 'open, ERC-20',
    accept: 'accept',
    start: 'start',
    'commit with TEE seal, K = 1': 'commit, TEE seal, one segment',
    'publish one chunk': 'publish, one chunk of 98,304 bytes',
    withdraw: 'withdraw',
    challenge: 'challenge',
    'discharge, K = 16, test verifier': 'discharge, 16 segments, with the test verifier',
    'lapse (slash)': 'lapse',
    'finalize with key': 'finalize, key revealed',
    draw: 'draw, 16 of 256',
    'finalize, 16 of 256 samples': 'finalize, 16 of 256 samples',
  };
  const pairs = rows(section('17')).flatMap(([a, x, b, y]) => [[a, x] as const, [b, y] as const]);
  const told = new Map(pairs.filter(([call]) => call !== undefined && call !== 'call'));
  for (const [call, name] of Object.entries(names))
    expect([call, told.get(call)]).toEqual([call, rounded(Number(measured[name]))]);
  const sizes = ['16', '147', '1024', '4000'].map((k) => rounded(Number(measured[`commit, segments ${k}`])));
  expect(told.get('commit K = 16 / 147 / 1024 / 4000')).toBe(sizes.join(' / '));
  for (const [name, value] of Object.entries(groth16)) {
    if (name !== 'hardfork') expect([name, told.get(name)]).toEqual([name, rounded(value.gasBesideCalldata)]);
  }
});
