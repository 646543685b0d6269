/** libs/step: what one training step means, in exact integers. SPEC.md is normative. */
export { canonicalJson, type CanonicalValue } from './canonical-json.js';
export {
  classCount,
  featureCount,
  parseManifest,
  parseManifestText,
  stepSize,
  type Manifest,
  type Sgd,
} from './manifest.js';
export {
  canonicalManifest,
  isNet,
  manifestDigest,
  parseJobManifest,
  parseJobManifestText,
  type JobManifest,
} from './job-manifest.js';
export { profileManifest, type ProfileName, type ProfileParameters } from './profile.js';
export { layerScales, stepSizeMax, type LayerScale } from './scale.js';
export { checkBounds } from './bounds.js';
export { provability, unscaledLimbs, type Provability, type UnscaledLimbs } from './provability.js';
export { clamp, divRound, floorDiv, isqrt, roundShift } from './integers.js';
export { setIntegers, setNumbers, tensorBytes, tensorIntegers, tensorNumbers, tensorValues } from './int64.js';
export { below, wordStream } from './random.js';
export {
  borderShapes,
  byLayer,
  checkShapes,
  checkWeights,
  decodeWeights,
  isInPieces,
  readWeights,
  encodeWeights,
  initialWeights,
  parameterCount,
  stateDigest,
  tensorShapes,
  weightParts,
  type TensorShape,
} from './weights.js';
export { checkStateSize } from './state-size.js';
export { decodeTensors, hashPartsReference, sizeOf, type HashParts, type Tensor, type Weights } from './tensors.js';
export { averageWeights } from './average.js';
export { divideSteps, type Divided, type Division } from './rounds.js';
export { forwardMultiplyAdds, slowMultiplyAdds, trainingSeconds } from './run-length.js';
export { expTable } from './table.js';
export { blockOfStep, blocksOfSteps, epochCoefficients, orderSize, superblockOfStep, type OrderSize } from './order.js';
export { shuffledIndices } from './shuffle.js';
export {
  checkLabels,
  idxImagesHeadBytes,
  parseIdxImages,
  parseIdxImagesHead,
  parseIdxLabels,
  type IdxImages,
} from './idx.js';
export {
  makeRecords,
  orderExamples,
  sliceExamples,
  recordBytes,
  splitRecords,
  superblockBytes,
  superblockRecords,
  type Examples,
} from './records.js';
export { checkMerklePath, merklePath, merkleRoot } from './merkle.js';
export { commitmentScheme, commitWeights, dataDigest, stateKeccak, type CommitmentScheme } from './commitment.js';
export { checkSuperblocks, commitDataset, datasetRoot, type DatasetCommitment } from './dataset.js';
export { guardSetOf, type GuardSet } from './guard-set.js';
export { countsAt, guardedSteps, guardTable, type TensorGuard } from './guards.js';
export { segmentReference } from './segment.js';
export { stepReference } from './reference.js';
export { type Matrix } from './matrix.js';
export { lossOf, type Loss } from './losses/index.js';
export { buildEvaluateGraph, buildTrainGraph, type EvaluateGraph, type GuardOutput, type TrainGraph } from './graph.js';
export { boundedTensors, buildQuickGraph } from './quick-graph.js';
export { quickVerdict, type QuickCall } from './quick-verdict.js';
export { floatOnnx } from './float-onnx.js';
export { withMetadata } from './onnx/graph-builder.js';
export { encodeModel, GraphBuilder, type ElementType, type ValueInfo } from './onnx/graph-builder.js';
export {
  canonicalHeader,
  layoutDigest,
  parseDataHeader,
  parseHeaderText,
  recordLayout,
  type DataHeader,
  type Features,
  type Label,
  type RecordLayout,
} from './net/header.js';
export { netDatasetRoot } from './net/dataset-root.js';
export { columnWidth, type CategoryColumn, type Column, type NumberColumn } from './net/columns.js';
export { addCounts, readCounts, type EdgeCounts } from './net/edge-counts.js';
export { coarseGrowth, explained, growthOf, growthSteps, lowerRate } from './divergence.js';
export { GuardViolation, growthWords, type Growth } from './errors.js';
export { idxBytesMax, manifestBytesMax, nameLengthMax } from './limits.js';
export { netOf, parseNetManifest } from './net/manifest.js';
export { netOpNames, netProvability, opsOf } from './net/provability.js';
export type { Net, NetManifest } from './net/net.js';
export type { NetExamples } from './net/examples.js';
export { netFloatOnnx, realEnds, type RealColumns } from './net/float-onnx.js';
export { netForwardReference, netStepReference } from './net/reference.js';
export { buildNetForwardGraph, buildNetTrainGraph, type NetForwardGraph, type NetTrainGraph } from './net/graph.js';
export { beyond, type Beyond } from './net/watched.js';
export { packedTensors } from './net/carried.js';
export { hasMoves, staysGuarded } from './net/moves.js';
export { checkHeaderFits, netRecordLayout, splitNetRecords } from './net/records.js';
export {
  checkParameters,
  drawnParameters,
  frozenOf,
  isLarge,
  parameterBytes,
  parameterShapes,
  parametersOf,
  startRoot,
  startState,
  stateShapes,
} from './net/state.js';
export { NetMeasurement } from './net/metrics/evaluate.js';
export { stepInputs, stepInputSizes, stepScalars } from './net/step-inputs.js';
export { netMultiplyAdds } from './net/work.js';
