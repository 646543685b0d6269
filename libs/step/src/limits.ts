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
