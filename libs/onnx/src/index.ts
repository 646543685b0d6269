/** Door of libs/onnx: onnxruntime with its telemetry off, and exact outputs of a net on it. */
export { InferenceSession, Tensor } from './runtime.js';
export { chooseProvider, chosenProvider, providerRefused } from './provider.js';
export { NetForward } from './net-forward.js';
export { elementTypeOf, float64Tensors, sessionOptions, type NamedTensors } from './net-tensors.js';
export { carriesBytes } from './carries-bytes.js';
