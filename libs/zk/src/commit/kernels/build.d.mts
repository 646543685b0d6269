export interface KernelModule {
  /** Generated file, relative to this folder. */
  readonly target: string;
}
export const modules: readonly KernelModule[];
export function generatedSource(module: KernelModule): Promise<string>;
