/** `veritrain guest lock | fetch | build | run | manifest | verify`: the measured guest's image from its locked inputs. */
import { Option, type Command } from 'commander';
import { buildGuest, lockedInputs, updateExpected, type Flavour } from '#libs/guest';
import { runImage, type RunRequest } from '../guest/run.js';
import { log, printResult, table, wholeNumber, type OutputOptions } from '../output.js';
import { addFetch } from './guest-fetch.js';
import { addManifestCommands } from './guest-manifest.js';
import { sourcesOf, withFlavour, type SourceOptions } from './guest-sources.js';

interface ImageOptions extends SourceOptions {
  readonly flavour: Flavour;
}

export function addGuestCommands(guest: Command): void {
  withFlavour(guest.command('lock'))
    .description('show what an image is made of: every input by version and digest, and what is open')
    .option('--update', 'write enclave/guest/expected.json from the lock: a commit of its own, it changes measurements')
    .action(async (options: ImageOptions & { update?: true }) => {
      if (options.update && (await updateExpected(sourcesOf(options))))
        log('enclave/guest/expected.json is another now: every measurement changes');
      const locked = lockedInputs(options.flavour);
      printResult(options, locked, () =>
        table([
          ...locked.inputs.map(({ name, version, digest }) => [`${name} ${version}`, digest] as const),
          ...locked.open.map((name) => [name, 'open: the flavour is not built'] as const),
        ]),
      );
    });
  addFetch(guest);
  withFlavour(guest.command('build').description('build the image; equal inputs give equal bytes'))
    .requiredOption('--out <folder>', 'where kernel, initrd, command line and the list of files go')
    .addOption(
      new Option('--acpi <state>', 'off: the kernel takes no ACPI tables of its host, and has one processor').choices([
        'off',
      ]),
    )
    .action(async (options: ImageOptions & { out: string; acpi?: 'off' }) => {
      const built = await buildGuest(options.flavour, options.out, sourcesOf(options), {
        isAcpiOff: options.acpi === 'off',
      });
      printResult(options, built, () =>
        table([
          ['folder', options.out],
          ...(['kernel', 'initrd', 'cmdline', 'files', 'firmware'] as const).map(
            (name) => [name, `${built[name].sha256}  ${built[name].bytes} bytes  ${built[name].file}`] as const,
          ),
        ]),
      );
    });
  addRun(guest);
  addManifestCommands(guest);
}

function addRun(guest: Command): void {
  guest
    .command('run')
    .argument('<folder>', 'an image of guest build')
    .description('boot an image without SEV-SNP until its enclave answers or it powers off: for development and checks')
    .option('--memory <mib>', 'memory of the machine', wholeNumber, 1024)
    .addOption(
      new Option('--accelerator <name>', 'else kvm where it is there and starts a guest').choices(['kvm', 'tcg']),
    )
    .option('--qemu <program>', 'by name or path', 'qemu-system-x86_64')
    .option('--json', 'print one JSON document')
    .action(async (folder: string, options: OutputOptions & Omit<RunRequest, 'folder'>) => {
      const ran = await runImage({ folder, ...options });
      printResult(options, ran, () =>
        table([
          ['flavour', `${ran.flavour}, ${ran.accelerator}, without SEV-SNP`],
          ...(ran.withoutKvm === null
            ? []
            : [['KVM', `is there and starts no guest, so the processor was emulated: ${ran.withoutKvm}`] as const]),
          ['open', ran.openSeconds === null ? 'never answered' : `answered after ${ran.openSeconds} s`],
          ...(ran.refusal === null ? [] : [['refusal', String(ran.refusal.code)] as const]),
          ['end', ran.status === 0 ? 'powered off by itself' : 'stopped'],
        ]),
      );
      if (!ran.ok) process.exitCode = 1;
    });
}
