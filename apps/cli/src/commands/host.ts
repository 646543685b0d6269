/** `veritrain host init | preflight | up | run`. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { later } from '../later.js';
import { wholeNumber } from '../output.js';
import { publicKey } from './ids.js';
import { addPostOptions } from './post-options.js';

export function addHostCommands(host: Command): void {
  addInit(host);
  addPreflight(host);
  addUp(host);
  addRun(host);
}

function common(command: Command): Command {
  return command
    .option('--dir <folder>', 'folder of the settings', '/etc/veritrain')
    .addOption(
      new Option('--profile <name>', 'snp: measured; dev: emulated, for development alone')
        .choices(['snp', 'dev'])
        .default('snp'),
    )
    .option('--qemu <program>', 'QEMU, by name or path', 'qemu-system-x86_64')
    .option('--memory <size>', 'memory of the guest, as 16G or 2048M', mebibytes, 4096);
}

function addInit(host: Command): void {
  common(
    host
      .command('init')
      .description('write the settings of a guest and its agent, their units and keys; keys that are there are kept'),
  )
    .requiredOption('--image <folder>', 'folder of the image: vmlinuz, initrd.img, cmdline')
    .option('--guest <n>', 'number of the guest on this machine', number, 0)
    .option('--vcpus <n>', 'virtual processors, as a shape of the manifest has', wholeNumber, 1)
    .option('--manifest <file>', 'signed measurement manifest of the image; demanded with SEV-SNP')
    .option('--public-key <hex>', 'Ed25519 public key of the manifest’s builder', publicKey)
    .option('--firmware <file>', 'firmware that the manifest names; else firmware.fd of the image')
    .option('--cpu <model>', 'QEMU’s CPU model, as a shape of the manifest has; else that of this processor')
    .option('--features <bits>', 'SEV_FEATURES, as a shape of the manifest has', '0x1')
    .option('--cbitpos <n>', 'place of the C-bit; else as CPUID says', wholeNumber)
    .option(
      '--reduced-phys-bits <n>',
      'bits of physical addresses that encryption costs; else as CPUID says',
      wholeNumber,
    )
    .option(
      '--gpu <address>',
      'PCI address of a GPU to hand over; repeat it',
      (one: string, before: readonly string[]) => [...before, one],
      [],
    )
    .option('--run-dir <folder>', 'where sockets and consoles go', '/run/veritrain')
    .option('--state <folder>', 'where the agent keeps what is owed', '/var/lib/veritrain')
    .option('--control-plane <url>', 'with the next four the settings of the agent are written too')
    .option('--dispatch <file>', 'how its dispatch is reached: controlPlane.dispatch of host settings, JSON')
    .option('--api-key <file>', 'key from the control plane’s administrator')
    .option('--rpc <url>', 'of the chain')
    .option('--deployment <file>', 'deployment of the contracts')
    .option('--json', 'print one JSON document')
    .action(later(async () => (await import('../host/actions.js')).init));
}

function addPreflight(host: Command): void {
  const preflight = host
    .command('preflight')
    .description('say whether this machine can start guests: each thing it takes, what was found, what to do');
  addPostOptions(common(preflight))
    .option('--guest <n>', 'number of the guest whose last report is looked at', number, 0)
    .option('--root <folder>', 'where /proc, /sys and /dev lie', '/')
    .option('--report <file>', 'an SNP report of this machine; else the one that host up kept')
    .option('--policy <file>', 'an appraisal policy whose floors the machine’s firmware is held against')
    .option('--vcek <file>', 'certificate of this chip; else AMD’s service is asked for it')
    .option('--crl <file>', 'AMD’s revocation list, DER or PEM; else its service is asked for it')
    .option('--offline', 'use kept collateral only, never the network')
    .option('--cache <folder>', 'where collateral is kept', '.veritrain/collateral')
    .option('--json', 'print one JSON document')
    .action(later(async () => (await import('../host/actions.js')).preflight));
}

function addUp(host: Command): void {
  host
    .command('up')
    .argument('<n>', 'number of the guest', number)
    .description(
      'boot a guest, hold its measurement against the manifest, then serve with it and its host agent until interrupted',
    )
    .option('--dir <folder>', 'folder of the settings', '/etc/veritrain')
    .option('--check', 'boot, ask, compare and end')
    .option('--json', 'print one JSON document')
    .action(later(async () => (await import('../host/actions.js')).up));
}

function addRun(host: Command): void {
  host
    .command('run')
    .argument('<n>', 'number of the guest', number)
    .description('start one guest and end with it: what veritrain-guest@.service runs')
    .option('--dir <folder>', 'folder of the settings', '/etc/veritrain')
    .option('--json', 'print one JSON document')
    .action(later(async () => (await import('../host/actions.js')).run));
}

/** @throws InvalidArgumentError */
function number(text: string): number {
  if (!/^\d{1,3}$/.test(text)) throw new InvalidArgumentError('a whole number from 0 to 999');
  return Number(text);
}

/** @throws InvalidArgumentError */
function mebibytes(text: string): number {
  const [, size, unit] = /^([1-9]\d{0,6})(M|G)$/.exec(text) ?? [];
  if (size === undefined) throw new InvalidArgumentError('a size, for example 16G or 2048M');
  return Number(size) * (unit === 'G' ? 1024 : 1);
}
