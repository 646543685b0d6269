/** Maxima of everything libs/step takes in; the unit is in the name. */

/** One manifest as JSON text. */
export const manifestBytesMax = 64 * 1024;
/** Layers of a network, inputs aside. */
export const layersMax = 8;
/** Width of a layer. */
export const widthMax = 65_536;
/** Weights and biases of a network. */
export const parametersMax = 1 << 24;
/** Rows of one batch. */
export const batchMax = 8_192;
/** Steps of a job. */
export const stepsMax = 1_000_000_000;
/** Blocks in one superblock. */
export const superblockMax = 1_024;
/** Entries of a step size schedule. */
export const scheduleEntriesMax = 1_024;
/** One IDX file. */
export const idxBytesMax = 1024 * 1024 * 1024;
/** Records of a data set. */
export const recordsMax = 1 << 24;
/** One data header as JSON text. */
export const headerBytesMax = 4 * 1024 * 1024;
/** Axes of a record's features. */
export const featureAxesMax = 4;
/** Features of a record: the product of its shape. */
export const featuresMax = 1 << 20;
/** Columns of a table, labels included. */
export const columnsMax = 65_536;
/** Targets of a record with several of them. */
export const targetsMax = 65_536;
/** Classes of a label; two bytes hold them. */
export const classesMax = 65_536;
/** Entries of a tokenizer's vocabulary. */
export const vocabularyMax = 1 << 24;
/** Largest fraction of features and targets. */
export const fractionMax = 30;
/** Code units of a column's name or a category's value. */
export const nameLengthMax = 256;
/** Elements of one edge of a net in a batch. */
export const edgeElementsMax = 1 << 27;
/** Layers of a net of fxt 2. */
export const netLayersMax = 512;
