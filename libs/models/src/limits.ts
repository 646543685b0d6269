/** Maxima of the files that libs/models takes in; the unit is in the name. */

/** One ONNX file. Weights of a network of fxt/2 as float64 stay below it. */
export const onnxBytesMax = 256 * 1024 * 1024;
/** One safetensors file. */
export const safetensorsBytesMax = 256 * 1024 * 1024;
/** The JSON header of a safetensors file. */
export const safetensorsHeaderBytesMax = 4 * 1024 * 1024;
/** Tensors of a safetensors file. */
export const tensorsMax = 20_000;
/** Protobuf fields of an ONNX file that are looked at. */
export const fieldsMax = 4_000_000;
/** Nodes of a graph, and initializers. */
export const nodesMax = 20_000;
/** Inputs, outputs or attributes of one node. */
export const membersMax = 1_024;
/** Axes of one tensor. */
export const axesMax = 8;
/** Bytes of a name. */
export const nameBytesMax = 1_024;
/** Elements of one tensor. */
export const elementsMax = 1 << 24;
/** Elements of all constants that a file has or that follow from it. */
export const constantElementsMax = 1 << 26;
/** Elements of one record on an edge. */
export const recordElementsMax = 1 << 20;
/** Nodes that are read as one function, as GELU and layer normalisation are when an exporter spells them out. */
export const functionNodesMax = 32;
/** Elements computed to read functions from samples, for one file. */
export const sampleElementsMax = 3 * 2 ** 28;
/** Integer bits of a weight that an import may ask for (libs/models/README.md). */
export const wintMax = 8;
