/** Maxima of everything libs/data reads; the unit is in the name. */

/** Rows of one source. */
export const rowsMax = 1 << 26;
/** Columns of one table. */
export const tableColumnsMax = 65_536;
/** Characters of one CSV row or one line of JSONL. */
export const rowCharactersMax = 16 * 1024 * 1024;
/** Characters of one cell that is no text to be cut into tokens. */
export const cellCharactersMax = 1024 * 1024;
/** Different values of one column that are kept as categories. */
export const categoriesMax = 65_536;
/** Different values of all columns together that are held in memory. */
export const valuesMax = 200_000;
/** Records of one data set, bytes. */
export const dataBytesMax = 1024 ** 4;
/** Bytes that are read, written or handed over at a time. */
export const batchBytes = 1024 * 1024;
/** Memory of one bucket of the shuffle, bytes, unless that makes more buckets than `bucketsMax`. */
export const bucketBytes = 16 * 1024 * 1024;
export const bucketsMax = 512;
