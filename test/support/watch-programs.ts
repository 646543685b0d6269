/** Which programs load a source that has changed, as esbuild follows their imports. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { context } from 'esbuild';

interface WatchedProgram {
  readonly name: string;
  /** Its main module, and those of the processes that it starts. */
  readonly mains: readonly string[];
}

interface Watch {
  stop(): Promise<void>;
}

/**
 * @param onChange  told the files that changed, of one program after the other
 * @param onBroken  told of sources that do not parse or import what is not there: nothing is worth a restart then
 */
export async function watchPrograms(
  programs: readonly WatchedProgram[],
  root: string,
  onChange: (name: string, files: readonly string[]) => Promise<void>,
  onBroken: (name: string, error: string) => void,
): Promise<Watch> {
  let turn = Promise.resolve();
  const contexts = await Promise.all(
    programs.map(async ({ name, mains }) => {
      let [since, begun] = [0, 0];
      let onFirst: (() => void) | undefined;
      const first = new Promise<void>((resolve) => (onFirst = resolve));
      const watch = await context({
        ...{ absWorkingDir: root, entryPoints: [...mains], outdir: 'dist', write: false },
        ...{ bundle: true, packages: 'external', conditions: ['source'], platform: 'node', format: 'esm' },
        ...{ metafile: true, logLevel: 'silent' },
        plugins: [
          {
            name: 'tell',
            setup(build) {
              build.onStart(() => void (begun = Date.now()));
              build.onEnd(({ errors, metafile }) => {
                const isFirst = onFirst !== undefined;
                onFirst?.();
                onFirst = undefined;
                if (errors.length > 0) return onBroken(name, errors[0]!.text);
                const times = Object.keys(metafile!.inputs).map(
                  (path) => [path, statSync(join(root, path)).mtimeMs] as const,
                );
                const changed = times.filter(([, time]) => time >= since).map(([path]) => path);
                if (!isFirst) turn = turn.then(() => onChange(name, changed));
                since = begun;
              });
            },
          },
        ],
      });
      await watch.watch();
      await first;
      return watch;
    }),
  );
  return {
    async stop() {
      await Promise.all(contexts.map((one) => one.dispose()));
      await turn;
    },
  };
}
