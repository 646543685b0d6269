/** The part of the WebAssembly API that the kernels use; the same in Node and in browsers. */

export interface WasmMemory {
  readonly buffer: SharedArrayBuffer;
  grow(pages: number): number;
}

export interface WasmModule {
  readonly [wasmModule]: true;
}
declare const wasmModule: unique symbol;

interface WasmApi {
  readonly Memory: new (limits: { initial: number; maximum: number; shared: true }) => WasmMemory;
  readonly Module: new (bytes: Uint8Array) => WasmModule;
  readonly Instance: new (module: WasmModule, imports: object) => { readonly exports: object };
}

export const wasm = (globalThis as unknown as { readonly WebAssembly: WasmApi }).WebAssembly;

export const PAGE_BYTES = 65_536;
