/** Records of a net as the engine reads them: features and labels apart. */

export interface NetExamples {
  readonly count: number;
  /** Row-major [count, …input shape]; tokens as int32. */
  readonly features: Uint8Array | Int16Array | Int32Array;
  /** Row-major [count, …label shape]; classes, 0 or 1, tokens, or reals at the output's fraction. */
  readonly labels: Int32Array;
}
