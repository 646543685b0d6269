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

it('takes smaller batches where many rows would fill none, and says how many still do not', () => {
  const image = header({ dtype: 'uint8', shape: [12, 12, 1], frac: 8 }, { kind: 'class', classes: 2, columns: [] });
  const planned = (train: number, batch?: number) =>
    planModel({ header: image, rows: { train, validation: 0 }, seed, ...(batch !== undefined && { batch }) });
  expect(planned(640)).toMatchObject({ plain: { batch: 64 } });
  expect(planned(640).why.join()).not.toContain('no batch');
  expect(planned(650)).toMatchObject({ plain: { batch: 64 }, why: expect.arrayContaining([left(10)]) });
  expect(planned(108)).toMatchObject({ plain: { batch: 8 }, why: expect.arrayContaining([left(4)]) });
  expect(planned(108, 64)).toMatchObject({ plain: { batch: 64 }, why: expect.arrayContaining([left(44)]) });
  expect(planned(5)).toMatchObject({ plain: { batch: 5 } });
});

const left = (rows: number): unknown => expect.stringMatching(new RegExp(`^${rows} rows fill no batch`));

it('has a rate of exact descent as it was asked for, or says which one it has', () => {
  const planned = (lr: number) => planModel({ header: table, rows, seed, optimizer: 'sgd-exact', lr });
  expect(planned(10).plain.learningRate).toBe(10);
  expect(planned(0.3).why.join()).toContain('A rate of 0.3 was asked for; 0.296875 is the nearest');
  expect(planned(0.25).why.join()).not.toContain('asked for');
  expect(() => planned(0.001)).toThrow(
    expect.objectContaining({ code: 'PLAN_RATE', detail: expect.objectContaining({ got: '0.001' }) as unknown }),
  );
});

it('ends early by the rows kept apart where it is asked to', () => {
  const apart = { train: 640, validation: 64 };
  const { manifest, why } = planModel({ header: table, rows: apart, seed, patience: 3 });
  expect(manifest.stop).toEqual({ metric: 'loss', patience: 3, minimum: 1 });
  expect(why.join()).toContain('after 3 passes without a better result');
  expect(planModel({ header: table, rows: apart, seed }).manifest.stop).toBeNull();
  expect(() => planModel({ header: table, rows, seed, patience: 3 })).toThrow('PLAN_PATIENCE');
  const proved = { header: table, rows: apart, seed, patience: 3, optimizer: 'sgd-exact' } as const;
  expect(() => planModel(proved)).toThrow('PLAN_PATIENCE');
});
