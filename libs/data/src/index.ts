/** libs/data: a user's files as records of layout 2, and new data read the same way. SPEC.md says how. */
export { openSource } from './open.js';
export { look } from './look.js';
export { type Choices } from './choose.js';
export { type ColumnUse } from './columns.js';
export { describeData, importData, keptApart, type ImportedData, type Share } from './import.js';
export { type RecordSet } from './record-set.js';
export { encodeWith, type Encoding } from './apply.js';
export { characterText, readTokenizer, type TextTokenizer } from './text/tokenizer.js';
