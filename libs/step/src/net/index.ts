/** fxt/2: nets of many ops (libs/step/SPEC.md §21 to §29). */
export { netOf, parseNetManifest } from './manifest.js';
export { type Net, type NetInput, type NetManifest } from './net.js';
export { type NetExamples } from './examples.js';
export { netForwardReference, netStepReference, type NetStep } from './reference.js';
export { buildNetForwardGraph, buildNetTrainGraph, type NetForwardGraph, type NetTrainGraph } from './graph.js';
export {
  checkParameters,
  drawnParameters,
  frozenOf,
  parameterShapes,
  parametersOf,
  startRoot,
  startState,
  stateShapes,
} from './state.js';
export { NetMeasurement, type Measured } from './metrics/evaluate.js';
export { stepInputs, stepScalars } from './step-inputs.js';
export { checkHeaderFits, netRecordLayout, splitNetRecords } from './records.js';
export { netMultiplyAdds } from './work.js';
