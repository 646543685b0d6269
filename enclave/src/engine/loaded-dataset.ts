/** What the engine trains on. */
import type { Tensor } from '#libs/onnx';

/** Examples in committed order as the graph reads them; made by `Engine.load`. */
export interface LoadedDataset {
  readonly recordCount: number;
  readonly labels: Int32Array;
  readonly feeds: { readonly features: Tensor; readonly labels: Tensor };
}
