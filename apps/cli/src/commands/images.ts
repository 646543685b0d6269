/** `veritrain images build`: images of the services as an OCI layout. */
import type { Command } from 'commander';
import { buildServices } from '#libs/guest';
import { printResult, table, type OutputOptions } from '../output.js';
import { sourcesOf, withSources, type SourceOptions } from './guest-sources.js';

export function addImagesCommands(images: Command): void {
  withSources(
    images
      .command('build')
      .description('write an OCI layout with one image a service; equal inputs give equal bytes')
      .requiredOption('--out <folder>', 'where the layout is written'),
  ).action(async (options: OutputOptions & SourceOptions & { out: string }) => {
    const built = await buildServices(options.out, sourcesOf(options));
    printResult(options, { ok: true, folder: options.out, ...built }, () =>
      table([
        ['folder', options.out],
        ['index', built.index],
        ['Node', built.node],
        ...built.layers.map(
          ({ name, digest, bytes, files }) => [name, `${digest}  ${bytes} bytes  ${files} files`] as const,
        ),
        ...built.images.map(({ name, digest }) => [name, digest] as const),
      ]),
    );
  });
}
