/** Root mean square norm over the last axis (libs/step/SPEC.md §22): no mean is taken off, and there is no β. */
import { normFaces, realEps, type Norm } from './norm.js';
import type { NetOp } from './op.js';

export const rmsnorm: NetOp<Norm> = {
  ...normFaces(false),
  /** By primitive ops: ONNX has no such node in opset 17. */
  emitFloat(f, layer, [x]) {
    const square = f.node('ReduceMean', [f.node('Mul', [x!, x!])], { axes: { ints: [-1] }, keepdims: { int: 1 } });
    const root = f.node('Sqrt', [f.node('Add', [square, f.scalar(realEps(layer))])]);
    return f.node('Mul', [f.node('Div', [x!, root]), f.parameter(layer, 'W')]);
  },
};
