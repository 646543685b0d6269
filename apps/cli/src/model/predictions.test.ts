import { expect, it } from 'vitest';
import { planModel } from '#libs/models';
import { drawnParameters, parseDataHeader } from '#libs/step';
import type { Source } from './data.js';
import { predictionTable } from './predictions.js';

const header = parseDataHeader({
  ...{ layout: 2, features: { dtype: 'int16', shape: [1], frac: 12 }, split: 'given', tokenizer: null },
  columns: [{ name: 'hours', kind: 'number', center: 0, scale: 1 }],
  label: {
    ...{ kind: 'vector', count: 4 },
    columns: [
      { name: 'hot', kind: 'flag', values: ['no', 'yes'] },
      { name: 'color', kind: 'category', values: ['red', 'blue', 'green'] },
    ],
  },
});
const rows = { train: 64, validation: 0 };
const { manifest } = planModel({ header, rows, seed: `0x${'5a'.repeat(32)}`, epochs: 1 });
const model = { header, manifest, parameters: drawnParameters(manifest) };
const source = { kind: 'csv', file: 'new.csv', hasNames: true, columns: [{}, {}] } as unknown as Source;
/** At fraction 10: 1 for hot, of the colors 0.5 for blue. */
const output = [1024, -1024, 512, 0];

it('says the probability of every label, in CSV and as a number of JSON lines', () => {
  const csv = predictionTable(model, source, 'out.csv');
  expect(csv.head).toBe('row,hot,color,hot=yes probability,color probability\n');
  expect(csv.line(csv.cells(3, undefined, output))).toBe('3,yes,blue,0.731059,0.622459\n');
  const lines = predictionTable(model, source, 'out.jsonl');
  expect(JSON.parse(lines.line(lines.cells(3, undefined, output)))).toEqual({
    ...{ row: 3, hot: 'yes', color: 'blue', 'hot=yes probability': 0.731059, 'color probability': 0.622459 },
  });
});
