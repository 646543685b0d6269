/** `veritrain host init | preflight | up | run`. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { ConfigurationError } from '#attestation/base';
import { readHostFacts } from '#libs/guest';
import { initHost, type AgentOptions, type SignedOptions, type SnpOptions } from '../host/init.js';
import { placesOf } from '../host/places.js';
import { hostReport, hostReportText, type HostReport } from '../host/report.js';
import { checkBoot, prepareGuest, runGuest, serve } from '../host/up.js';
import { log, printResult, table, wholeNumber, type OutputOptions } from '../output.js';
import { postedHost, postPreflight, type PostOptions } from '../preflight/post.js';
import { addPostOptions } from './post-options.js';
import { publicKey } from './policy.js';

interface PlaceOptions extends OutputOptions {
  readonly dir: string;
}
interface CommonOptions extends PlaceOptions {
  readonly profile: 'snp' | 'dev';
  readonly qemu: string;
  readonly memory: number;
}

/** What is left to do where the settings of the agent are not there. */
const agentWanted =
  'veritrain host init again, with --control-plane, --dispatch, --api-key, --rpc and --deployment besides';
const simulatedLine =
  'SIMULATED: profile dev runs without SEV-SNP. Nothing is measured, the host sees all. For development alone.';

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

interface InitFlags extends CommonOptions {
  readonly image: string;
  readonly guest: number;
  readonly vcpus: number;
  readonly manifest?: string;
  readonly publicKey?: Uint8Array;
  readonly firmware?: string;
  readonly cpu?: string;
  readonly features: string;
  readonly cbitpos?: number;
  readonly reducedPhysBits?: number;
  readonly gpu: readonly string[];
  readonly runDir: string;
  readonly state: string;
  readonly controlPlane?: string;
  readonly dispatch?: string;
  readonly apiKey?: string;
  readonly rpc?: string;
  readonly deployment?: string;
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
    .action(init);
}

async function init(flags: InitFlags): Promise<void> {
  if (flags.profile === 'dev') log(simulatedLine);
  const { dir, guest, profile, image, qemu, vcpus, memory, runDir, state } = flags;
  const agent = agentOf(flags);
  const snp = profile === 'snp' ? await snpOf(flags) : undefined;
  const signed = profile === 'dev' ? signedOf(flags) : undefined;
  const places = { dir, number: guest, profile, image, qemu, vcpus, memoryMiB: memory, runDir, state };
  const written = await initHost({
    ...places,
    ...(agent && { agent }),
    ...(snp && { snp }),
    ...(signed && { signed }),
  });
  const next = [
    `veritrain host up ${guest} --check --dir ${resolve(dir)}`,
    ...(agent === undefined ? [`${agentWanted}; keys are kept`] : []),
    `cp ${placesOf(dir, guest).units}/*.service /etc/systemd/system/ && systemctl enable --now veritrain-guest@${guest} veritrain-host-agent@${guest}`,
  ];
  printResult(flags, { ok: true, simulated: profile === 'dev', written, next }, () =>
    table([...written.map(({ file, what }) => [file, what] as const), ...next.map((line) => ['next', line] as const)]),
  );
}

function agentOf({ controlPlane, dispatch, apiKey, rpc, deployment }: InitFlags): AgentOptions | undefined {
  const said = [controlPlane, dispatch, apiKey, rpc, deployment].filter((value) => value !== undefined).length;
  if (said === 0) return undefined;
  if (controlPlane && dispatch && apiKey && rpc && deployment)
    return { controlPlane, dispatch, apiKey, rpc, deployment };
  throw missing('--control-plane, --dispatch, --api-key, --rpc and --deployment together', `${said} of them`);
}

function signedOf({ manifest, publicKey: key }: InitFlags): SignedOptions | undefined {
  if (manifest === undefined && key === undefined) return undefined;
  if (manifest === undefined || key === undefined) throw missing('--manifest and --public-key', 'one of them');
  return { manifest, publicKey: key };
}

async function snpOf(flags: InitFlags): Promise<SnpOptions> {
  const { firmware = `${flags.image}/firmware.fd`, features, gpu: gpus } = flags;
  const signed = signedOf(flags);
  if (signed === undefined)
    throw missing('--manifest and --public-key', 'none: a guest with SEV-SNP starts as its manifest says');
  const { cbitpos, reducedPhysBits } = flags;
  const facts = await readHostFacts('/', flags.qemu, '/');
  const said = cbitpos !== undefined && reducedPhysBits !== undefined ? { cbitpos, reducedPhysBits } : undefined;
  const encryption = said ?? facts.encryption;
  if (encryption === null)
    throw missing('--cbitpos and --reduced-phys-bits, or a readable /dev/cpu/0/cpuid', 'neither');
  const cpu = flags.cpu ?? `EPYC-${facts.product ?? 'Milan'}`;
  return { ...signed, firmware, cpu, features, encryption, gpus };
}

function missing(expected: string, got: string, action = 'see veritrain host init --help'): ConfigurationError {
  return new ConfigurationError('HOST_INIT', { expected, got, rule: 'veritrain host init', action });
}

interface PreflightFlags extends CommonOptions, PostOptions {
  readonly root: string;
  readonly policy?: string;
  readonly report?: string;
  readonly vcek?: string;
  readonly crl?: string;
  readonly guest: number;
  readonly offline?: boolean;
  readonly cache: string;
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
    .action(async (flags: PreflightFlags) => {
      if (flags.profile === 'dev') log(simulatedLine);
      const kept = placesOf(flags.dir, flags.guest).report;
      const report = flags.report ?? (existsSync(kept) ? kept : undefined);
      const result: HostReport = await hostReport({
        ...flags,
        stateDirectory: flags.dir,
        ...(report !== undefined && { report }),
      });
      const text = (): string => hostReportText(result);
      await postPreflight(flags, postedHost(result, new Date()), text);
      printResult(flags, result, text);
      if (!result.ok) process.exitCode = 1;
    });
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
    .action(async (guest: number, flags: PlaceOptions & { check?: boolean }) => {
      const places = placesOf(flags.dir, guest);
      if (flags.check !== true && !existsSync(places.agent))
        throw missing(`settings of the host agent: ${places.agent}`, 'none', `${agentWanted}; or --check`);
      const { kind, measurement, ms } = await checkBoot(places, log);
      const simulated = kind !== 'snp';
      if (simulated) log(simulatedLine);
      printResult(flags, { ok: true, simulated, kind, measurement, ms }, () =>
        table([
          ['evidence', simulated ? `${kind} (SIMULATED)` : kind],
          ['measurement', simulated ? 'none: nothing is measured' : `${measurement}, as the manifest says`],
          ['answered after', `${(ms / 1000).toFixed(1)} s`],
        ]),
      );
      if (flags.check !== true) await serve(places, log, untilStopped());
    });
}

function addRun(host: Command): void {
  host
    .command('run')
    .argument('<n>', 'number of the guest', number)
    .description('start one guest and end with it: what veritrain-guest@.service runs')
    .option('--dir <folder>', 'folder of the settings', '/etc/veritrain')
    .option('--json', 'print one JSON document')
    .action(async (guest: number, flags: PlaceOptions) => {
      const prepared = await prepareGuest(placesOf(flags.dir, guest));
      const simulated = prepared.settings.platform.kind === 'dev';
      if (simulated) log(simulatedLine);
      const status = await runGuest(prepared, untilStopped());
      printResult(flags, { ok: status === 0, simulated, status }, () => `QEMU ended with ${status}`);
      process.exitCode = status;
    });
}

function untilStopped(): AbortSignal {
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
  return stopping.signal;
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
