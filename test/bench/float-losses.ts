/** Losses of `fxt/2` in ordinary float32: the output's error, summed over the batch and not divided, and a mean to show. */
import type { Net } from '#libs/step';
import type { FloatGraph } from './float-graph.js';

interface LossError {
  /** Of the output edge, of its shape. */
  readonly G: string;
  readonly loss: string;
}

/** @param Y real outputs [batch, …] @param labels int32, as records have them */
type FloatLoss = (f: FloatGraph, net: Net, Y: string, labels: string) => LossError;

const mean = (f: FloatGraph, x: string): string => f.node('ReduceMean', [x], { keepdims: { int: 0 } });

const softmax: FloatLoss = (f, { output }, Y, labels) => {
  const C = output.shape.at(-1)!;
  const identity = Float32Array.from({ length: C * C }, (_, i) => (i % (C + 1) === 0 ? 1 : 0));
  const oneHot = f.node('Gather', [f.graph.float32([C, C], identity), f.reshape(labels, [-1])]);
  const p = f.node('Softmax', [f.rows(Y, C)]);
  const loss = mean(f, f.node('Neg', [f.node('Log', [f.sum(f.mul(p, oneHot), 1, 0)])]));
  return { G: f.reshape(f.sub(p, oneHot), [-1, ...output.shape]), loss };
};

const bits: FloatLoss = (f, { output }, Y, labels) => {
  const targets = f.reshape(f.scaled(labels, 0), [-1, ...output.shape]);
  const loss = mean(f, f.sub(f.node('Softplus', [Y]), f.mul(Y, targets)));
  return { G: f.sub(f.node('Sigmoid', [Y]), targets), loss };
};

const squares: FloatLoss = (f, { output, manifest }, Y, labels) => {
  const error = f.sub(Y, f.reshape(f.scaled(labels, output.a), [-1, ...output.shape]));
  const loss = mean(f, f.mul(error, error));
  const { huber } = manifest.loss;
  if (typeof huber !== 'number') return { G: error, loss };
  const most = huber * 2 ** -output.g;
  return { G: f.node('Clip', [error, f.scalar(-most), f.scalar(most)]), loss };
};

export const floatLosses: Readonly<Record<string, FloatLoss>> = {
  ...{ 'softmax-ce': softmax, 'sigmoid-bce': bits, mse: squares },
};
