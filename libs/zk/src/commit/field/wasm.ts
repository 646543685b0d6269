/** The part of the WebAssembly API that the verifying half uses; the same in Node and in browsers. */
interface WasmApi {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: object };
}

/** @returns the exports of a module given in base64, or undefined where WebAssembly or a feature of it is missing */
export function instantiate<Exports>(base64: string): Exports | undefined {
  const { WebAssembly: wasm } = globalThis as unknown as { readonly WebAssembly?: WasmApi };
  if (wasm === undefined) return undefined;
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    return new wasm.Instance(new wasm.Module(bytes)).exports as Exports;
  } catch {
    return undefined;
  }
}
