export function compileKernels(): Promise<Uint8Array>;
export function generatedSource(bytes: Uint8Array): string;
