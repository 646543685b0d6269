/** Maxima of everything libs/data reads; the unit is in the name. */

/** Rows of one source. */
export const rowsMax = 1 << 26;
/** Columns of one table. */
export const tableColumnsMax = 65_536;
/** Bytes of one row of CSV or one line of JSONL. */
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
export const bucketBytes = 8 * 1024 * 1024;
export const bucketsMax = 512;
/** Bytes of one row of an array. */
export const recordBytesMax = 64 * 1024 * 1024;
/** Pixels of a picture as it is stored, and bytes of its file. */
export const pixelsMax = 32 * 1024 * 1024;
export const pictureBytesMax = 64 * 1024 * 1024;
/** Pictures of a folder, and classes. */
export const picturesMax = 1 << 22;
/** Bytes of a row group of Parquet, unpacked. */
export const rowGroupBytesMax = 512 * 1024 * 1024;
/** Bytes of a tokenizer's file. */
export const tokenizerBytesMax = 64 * 1024 * 1024;
/** Tokens of a record. */
export const windowMax = 65_536;
/** Rows of a row group of Parquet, and columns of the file. */
export const rowGroupRowsMax = 1 << 22;
export const parquetColumnsMax = 4_096;
/** Bytes of the header of an .npy; of a ZIP's directory, and of the comment behind it (APPNOTE 6.3, 4.3.16). */
export const npyHeaderBytesMax = 64 * 1024;
export const zipDirectoryBytesMax = 1024 * 1024;
export const zipCommentBytesMax = 65_535;
/** Time that the reader of Parquet may take to start. */
export const parquetStartMilliseconds = 20_000;
/** Time that a file of Parquet may take to open, and beside it what unpacked bytes of a row group are given. */
export const parquetMilliseconds = 5_000;
export const parquetBytesPerMillisecond = 4_096;
/** Heap of the process that reads Parquet, MiB. */
export const parquetHeapMebibytes = 2_048;
/** Time that a tokenizer may take for one piece of text. */
export const tokenizerMilliseconds = 10_000;
/** Deflate makes at most so many bytes of one (zlib's technical details). */
export const deflateRatioMax = 1_032;
/** Numbers of two axes are columns of their own up to so many; more share one transform. */
export const columnsOfMatrixMax = 1_024;
