/** libs/data: a user's files as records of layout 2, and new data read the same way. SPEC.md says how. */
export { openSource } from './open.js';
export { look } from './look.js';
export { type Choices } from './choose.js';
export { describeData, importData, type ImportedData } from './import.js';
export { type RecordSet } from './record-set.js';
export { encodeWith, type Encoding } from './apply.js';
export { readTokenizer } from './text/tokenizer.js';
