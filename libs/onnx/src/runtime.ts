/** onnxruntime with its telemetry off. Nothing else imports the package. */
import './telemetry-off.js';
export { InferenceSession, Tensor } from 'onnxruntime-node';
