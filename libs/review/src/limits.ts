/** Most bytes of what a reviewer opens. */
export const bundleBytesMax = 16 * 1024 * 1024;
export const reportBytesMax = 1024 * 1024;
/** Of a log export: some thousand revocations with their paths. */
export const exportBytesMax = 16 * 1024 * 1024;
/** As long as an appraisal policy is taken at most. */
export const policyBytesMax = 1024 * 1024;
export const groth16KeyBytesMax = 64 * 1024;
export const keyFileBytesMax = 4096;
export const declaredCharactersMax = 4000;
