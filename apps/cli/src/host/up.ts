/** A guest and its host agent, started together; the guest again after every session, as its unit would. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readGuestManifest } from '#attestation';
import { CodedError, Rejection } from '#attestation/base';
import { readBytes, writeWhole } from '#libs/client/files';
import { keepGuests, machineOf, readGuestSettings, startGuest, whenAborted, type GuestSettings } from '#libs/guest';
import { nodeCommand, startProcess, within } from '#libs/process';
import { askGuest, checkMeasurement, type Answered } from './ask-guest.js';
import { checkImage, digestsOf, type ImageDigests } from './image.js';
import type { placesOf } from './places.js';

type Places = ReturnType<typeof placesOf>;
const manifestMost = 4 * 1024 * 1024;
/** A guest that was asked powers off by itself. */
const powerOffWithinMs = 30_000;
const againAfterMs = 1000;
/** The agent lets a lease in hand come to its end. */
const agentGraceMs = 3_600_000;

interface Prepared {
  readonly settings: GuestSettings;
  readonly found: ImageDigests;
}

/** @throws ConfigurationError GUEST_SETTINGS, FILE_*; Rejection GUEST_IMAGE: a file that would be measured as another */
export async function prepareGuest(places: Places): Promise<Prepared> {
  const settings = readGuestSettings(places.guest);
  const found = await digestsOf(settings.image);
  if (settings.platform.kind === 'snp') checkImage(found, readManifest(places));
  mkdirSync(settings.runDirectory, { recursive: true, mode: 0o750 });
  return { settings, found };
}

function readManifest({ manifest }: Places) {
  return readGuestManifest(new TextDecoder().decode(readBytes(manifest, manifestMost)));
}

/** Runs one guest until it ends or the signal comes. @returns QEMU's status, 0 where it was asked to end */
export async function runGuest({ settings, found }: Prepared, stop: AbortSignal): Promise<number> {
  const guest = await startGuest(machineOf(settings, found.cmdline));
  const end = await Promise.race([guest.exited, whenAborted(stop)]);
  if (end !== null) return end.status ?? 1;
  await guest.stop();
  return 0;
}

interface BootCheck extends Answered {
  readonly ms: number;
}

/**
 * Boots a guest, asks it over a fresh nonce, holds its measurement against the one that is set and keeps its report for
 * `host preflight`; the guest ends with it.
 * @param onLine  told that it takes a while, and where the guest's own words are
 * @throws as askGuest; Rejection GUEST_MEASUREMENT, GUEST_IMAGE; ConfigurationError GUEST_*
 */
export async function checkBoot(places: Places, onLine: (line: string) => void): Promise<BootCheck> {
  const prepared = await prepareGuest(places);
  const { settings, found } = prepared;
  const began = performance.now();
  const words = join(settings.runDirectory, 'console.log');
  onLine(`booting a guest, half a minute or more; what it says: ${words}`);
  const guest = await startGuest(machineOf(settings, found.cmdline));
  try {
    const answered = await askGuest(settings).catch(async (error: unknown) => {
      // A guest that powers off closes the channel first.
      const end = await within(powerOffWithinMs, guest.exited);
      if (end === undefined || (error instanceof CodedError && error.code === 'GUEST_HARDWARE')) throw error;
      return neverAnswered(end, words);
    });
    writeWhole(places.report, answered.report);
    const { platform } = settings;
    if (platform.kind === 'snp')
      checkMeasurement(answered.measurement, settings, platform, readManifest(places), found);
    await within(powerOffWithinMs, guest.exited);
    return { ...answered, ms: Math.round(performance.now() - began) };
  } finally {
    await guest.stop();
  }
}

function neverAnswered({ status, said }: { status: number | null; said: string }, words: string): never {
  throw new Rejection('GUEST_ENDED', {
    ...{
      expected: 'a guest that answers',
      got: `QEMU ended with ${status ?? 'a signal'}${said && `: ${said.slice(-300)}`}`,
    },
    rule: 'settings of a guest',
    action: `read ${words}: the guest’s first process says in one line why it powered off`,
  });
}

/**
 * Serves until the signal comes: the agent as its own process, the guest again whenever it ends. The agent ends first.
 * @throws as prepareGuest; ConfigurationError GUEST_* where no guest starts
 */
export async function serve(places: Places, onLine: (line: string) => void, stop: AbortSignal): Promise<void> {
  const { settings, found } = await prepareGuest(places);
  const agentEnded = new AbortController();
  const guests = await keepGuests(machineOf(settings, found.cmdline), onLine, agentEnded.signal);
  const env = { ...process.env, VERITRAIN_HOST_SETTINGS: places.agent };
  const command = nodeCommand('../../../host-agent/src/main', import.meta.url);
  const asked = whenAborted(stop).then(() => 'asked' as const);
  while (!stop.aborted) {
    const agent = startProcess(command, { stdio: ['ignore', 'inherit', 'inherit'], env, endsWithUs: true });
    if ((await Promise.race([agent.exited, asked])) === 'asked') await agent.stop(agentGraceMs);
    else onLine('the host agent ended; it is started again');
    await sleep(againAfterMs, undefined, { signal: stop }).catch(() => undefined);
  }
  agentEnded.abort();
  await guests.done;
}
