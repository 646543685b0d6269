/** What a label asks of a net: its last layer, its loss, and what is measured (libs/step/SPEC.md §23, §29). */
import type { DataHeader } from '#libs/step';

export type Task = 'classify' | 'regress' | 'multilabel' | 'language';

interface Objective {
  readonly task: Task;
  /** Numbers that the net answers with, for a record or for each place of it. */
  readonly outputs: number;
  /** Members of the last layer beside its size: the fractions that the loss reads. */
  readonly last: { readonly a?: number; readonly g?: number };
  readonly loss: Readonly<Record<string, number | string>>;
  readonly labelShape: readonly number[];
  readonly metrics: readonly string[];
  /** Of them the one that an early end goes by. */
  readonly stopMetric: string;
}

/** Tenths of bits that the sum over `classes` needs. */
const sumBits = (classes: number, least: number): number => Math.max(least, 22 + Math.ceil(Math.log2(classes)));

export function objectiveOf({ label, features }: Pick<DataHeader, 'label' | 'features'>): Objective {
  switch (label.kind) {
    case 'class':
      return {
        ...{ task: 'classify', outputs: label.classes, last: {}, labelShape: [] },
        ...{ loss: { kind: 'softmax-ce', E: 12, k: sumBits(label.classes, 28) }, metrics: ['accuracy', 'loss'] },
        stopMetric: 'loss',
      };
    case 'tokens': {
      const vocab = features.dtype === 'tokens' ? features.vocab : 1;
      return {
        ...{ task: 'language', outputs: vocab, last: {}, labelShape: features.shape },
        ...{ loss: { kind: 'softmax-ce', E: 12, k: sumBits(vocab, 36) }, metrics: ['loss', 'accuracy'] },
        stopMetric: 'loss',
      };
    }
    case 'vector':
      return {
        ...{ task: 'multilabel', outputs: label.count, last: { a: 10, g: 12 }, labelShape: [label.count] },
        ...{ loss: { kind: 'sigmoid-bce' }, metrics: ['exact-match', 'label-accuracy'] },
        stopMetric: 'label-accuracy',
      };
    case 'real':
      return {
        ...{ task: 'regress', outputs: label.count, last: { a: label.frac }, labelShape: [label.count] },
        ...{ loss: { kind: 'mse' }, metrics: ['sse', 'sae'] },
        stopMetric: 'sse',
      };
  }
}
