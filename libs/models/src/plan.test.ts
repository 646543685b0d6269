import { expect, it } from 'vitest';
import { planModel } from '#libs/models';
import { parseDataHeader } from '#libs/step';

const seed = `0x${'00'.repeat(32)}`;
const rows = { train: 640, validation: 0 };
const header = (features: object, label: object) =>
  parseDataHeader({ layout: 2, features, label, columns: [], split: 'given', tokenizer: null });
const text = header({ dtype: 'tokens', shape: [64], vocab: 70 }, { kind: 'tokens' });
const table = header({ dtype: 'int16', shape: [4], frac: 12 }, { kind: 'class', classes: 3, columns: [] });

it('gives the second moment of text a shorter memory than that of a table', () => {
  expect(planModel({ header: text, rows, seed }).manifest.optimizer).toMatchObject({ kind: 'adamw', beta2: [3, 8] });
  expect(planModel({ header: table, rows, seed }).manifest.optimizer).toMatchObject({ kind: 'adamw', beta2: [1, 10] });
});
