/** How many rows the exact net and the exported file are run on, and how many at a time. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { planModel } from '#libs/models';
import { InferenceSession, NetForward } from '#libs/onnx';
import { drawnParameters, parseDataHeader } from '#libs/step';
import { exportModel } from './export.js';
import { writeModel } from './folder.js';
import { evaluate, predict } from './predict.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-exported-'));
const at = (name: string): string => join(folder, name);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const timeout = { timeout: 120_000 };
const rows = 300;
/** An edge so wide that the exact net takes 128 rows at a time. */
const [wide, taken] = [2 ** 15, 128];

beforeAll(() => {
  const header = parseDataHeader({
    ...{ layout: 2, features: { dtype: 'int16', shape: [1], frac: 12 }, split: { train: 64, validation: 0 } },
    label: { kind: 'class', classes: 2, columns: [{ name: 'y', kind: 'category', values: ['n', 'y'] }] },
    columns: [{ name: 'x', kind: 'number', center: 0, scale: 1 }],
    tokenizer: null,
  });
  const layers = [wide, 2].map((out) => ({ op: 'dense', out, bias: false }));
  const request = { header, rows: { train: 64, validation: 0 }, seed: `0x${'5a'.repeat(32)}`, epochs: 1 };
  const { manifest } = planModel({ ...request, brought: { layers } });
  writeModel(at('model'), { manifest, header, parameters: drawnParameters(manifest) });
  const lines = Array.from({ length: rows }, (_, i) => `${(i % 40) / 10 - 2},${'ny'[i % 2]!}`);
  writeFileSync(at('rows.csv'), ['x,y', ...lines, ''].join('\n'));
});

/** Rows of every call, while something runs. */
async function callsOf(work: () => Promise<unknown>): Promise<{ readonly exact: number[]; readonly float: number[] }> {
  const calls = { exact: [] as number[], float: [] as number[] };
  const [create, outputs] = [InferenceSession.create.bind(InferenceSession), NetForward.prototype.outputs];
  const exact = vi.spyOn(NetForward.prototype, 'outputs').mockImplementation(async function* (
    this: NetForward,
    ...given
  ) {
    for await (const part of outputs.apply(this, given)) {
      calls.exact.push(part.rows);
      yield part;
    }
  });
  const float = vi.spyOn(InferenceSession, 'create').mockImplementation(async (...given: unknown[]) => {
    const session = await (create as (...all: unknown[]) => Promise<InferenceSession>)(...given);
    const run = session.run.bind(session) as (feeds: InferenceSession.FeedsType) => ReturnType<InferenceSession['run']>;
    session.run = (feeds) => {
      // The exact net is given its weights besides.
      if (Object.keys(feeds).length === 1) calls.float.push(feeds['features']!.dims[0]!);
      return run(feeds);
    };
    return session;
  });
  try {
    await work();
  } finally {
    exact.mockRestore();
    float.mockRestore();
  }
  return calls;
}

const sum = (counts: readonly number[]): number => counts.reduce((all, one) => all + one, 0);
const model = { model: at('model'), data: at('rows.csv') };

it.each([
  ['predict', () => predict({ ...model, out: at('out.csv') })],
  ['evaluate', () => evaluate(model)],
])(
  '%s runs the exact net once on each row, and the file on the first 256, a few at a time',
  timeout,
  async (_, work) => {
    const { exact, float } = await callsOf(work);
    expect([sum(exact), sum(float)]).toEqual([rows, 256]);
    expect(Math.max(...exact, ...float)).toBe(taken);
  },
);

it('model export compares a few rows at a time', timeout, async () => {
  const { exact, float } = await callsOf(() => exportModel({ ...model, out: at('export') }));
  expect([sum(exact), sum(float)]).toEqual([rows, rows]);
  expect(Math.max(...exact, ...float)).toBe(taken);
});
