/** What `veritrain host init | preflight | up | run` do. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigurationError } from '#attestation/base';
import { readHostFacts } from '#libs/guest';
import { log, printResult, table, type OutputOptions } from '../output.js';
import { postedHost, postPreflight, type PostOptions } from '../preflight/post.js';
import { initHost, type AgentOptions, type SignedOptions, type SnpOptions } from './init.js';
import { placesOf } from './places.js';
import { hostReport, hostReportText, type HostReport } from './report.js';
import { checkBoot, prepareGuest, runGuest, serve } from './up.js';

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

export async function init(flags: InitFlags): Promise<void> {
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

export async function preflight(flags: PreflightFlags): Promise<void> {
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
}

export async function up(guest: number, flags: PlaceOptions & { check?: boolean }): Promise<void> {
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
}

export async function run(guest: number, flags: PlaceOptions): Promise<void> {
  const prepared = await prepareGuest(placesOf(flags.dir, guest));
  const simulated = prepared.settings.platform.kind === 'dev';
  if (simulated) log(simulatedLine);
  const status = await runGuest(prepared, untilStopped());
  printResult(flags, { ok: status === 0, simulated, status }, () => `QEMU ended with ${status}`);
  process.exitCode = status;
}

function untilStopped(): AbortSignal {
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
  return stopping.signal;
}
