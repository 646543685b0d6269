/** Door of libs/onnx: onnxruntime with its telemetry off. Nothing else imports the package. */
import './telemetry-off.js';
export { InferenceSession, Tensor } from 'onnxruntime-node';
export { NetForward, type NetOutput } from './net-forward.js';
export { elementTypeOf, float64Tensors, sessionOptions, type NamedTensors } from './net-tensors.js';
