/** Door of libs/models: models that users bring, as nets of fxt/2 and back. Bytes in, bytes out; no files, no processes. */
export { Comparison, importCheck, type Agreement, type AnswerKind } from './check.js';
export { UnsupportedModel } from './errors.js';
export { exactParameters, exportOnnx, exportSafetensors } from './export.js';
export { interfaceName, interfaceOf, interfaceText, takesOwnNumbers, type ModelInterface } from './interface.js';
export { onnxBytesMax, safetensorsBytesMax } from './limits.js';
export { mappedParameters } from './mapping.js';
export { importOnnx, type ImportedModel, type RealParameter } from './onnx/import.js';
export { originOf, withOrigin, type Origin } from './origin.js';
export { quantise } from './quantise.js';
export { readSafetensors, writeSafetensors } from './safetensors.js';
export { estimate } from './plan/estimate.js';
export { planBrought, type Adapting, type Remedies } from './plan/bring.js';
export { headOf, withNewHead, type NewHead } from './ops/new-head.js';
export { fractionsOf, planModel, type PlanWish } from './plan/plan.js';
export { inOwnUnits, lostInFloat32, realInputs, realOutputs, type OwnUnits } from './units.js';
export { overfitOf, type Overfit } from './losses/overfit.js';
export { metricsOf, readingOf, type Measured } from './losses/readings.js';
export { answers } from './losses/answers.js';
