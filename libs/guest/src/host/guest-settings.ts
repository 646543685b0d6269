/** How one guest of this host is started: `guest/N.json`, which `veritrain host init` writes. */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { ConfigurationError } from '#attestation/base';
import { rootOf } from '../image/root.js';
import type { GuestMachine } from '../qemu-command.js';

const hexWord = z.string().regex(/^0x[0-9a-f]{1,16}$/);
const base64 = z.base64().max(8192);

const schema = z.strictObject({
  version: z.literal(1),
  /** Program, by name or path. */
  qemu: z.string().min(1).max(4096),
  /** Folder of the image: vmlinuz, initrd.img, cmdline. */
  image: z.string().min(1).max(4096),
  /** Folder of socket and console. */
  runDirectory: z.string().min(1).max(4096),
  vcpus: z.int().min(1).max(512),
  memoryMiB: z
    .int()
    .min(1)
    .max(2 ** 24),
  platform: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('dev'), accelerator: z.enum(['tcg', 'kvm']).default('tcg') }),
    z.strictObject({
      kind: z.literal('snp'),
      firmware: z.string().min(1).max(4096),
      cpu: z.string().regex(/^[\w.-]{1,40}$/),
      features: hexWord,
      policy: hexWord,
      cbitpos: z.int().min(1).max(63),
      reducedPhysBits: z.int().min(1).max(63),
      /** What the report must show, hexadecimal. */
      measurement: z.string().regex(/^[0-9a-f]{96}$/),
      idBlock: z.strictObject({ block: base64, auth: base64, authored: z.boolean() }).optional(),
      hostData: base64.optional(),
      gpus: z
        .array(z.string().regex(/^[\da-f]{4}:[\da-f]{2}:[\da-f]{2}\.\d$/))
        .max(16)
        .default([]),
    }),
  ]),
});

export type GuestSettings = z.infer<typeof schema>;

/** Bytes. */
const settingsMost = 65_536;

/** @throws ConfigurationError GUEST_SETTINGS naming the member */
export function readGuestSettings(path: string): GuestSettings {
  let json: unknown;
  try {
    json = JSON.parse(readShort(path));
  } catch (error) {
    throw invalid(`${path}: JSON of at most ${settingsMost} bytes`, error instanceof Error ? error.message : 'another');
  }
  return checkGuestSettings(json, path);
}

/** @throws ConfigurationError GUEST_SETTINGS naming the member */
export function checkGuestSettings(json: unknown, path: string): GuestSettings {
  const { success, data, error } = schema.safeParse(json);
  if (success) return data;
  const issue = error.issues[0]!;
  throw invalid(`${path}: ${issue.message}`, issue.path.join('.') || 'another document');
}

/** The machine of these settings. @param cmdline  content of the image's `cmdline` */
export function machineOf(settings: GuestSettings, cmdline: string): GuestMachine {
  const { qemu, image, runDirectory, vcpus, memoryMiB, platform } = settings;
  return {
    ...{ qemu, cmdline, vcpus, memoryMiB },
    ...{ kernel: join(image, 'vmlinuz'), initrd: join(image, 'initrd.img') },
    ...(rootOf(cmdline) && { root: join(image, 'root.img') }),
    ...{ channel: join(runDirectory, 'channel.sock'), console: join(runDirectory, 'console.log') },
    platform: platform.kind === 'dev' ? platform : snpPlatform(platform),
  };
}

type SnpSettings = Extract<GuestSettings['platform'], { kind: 'snp' }>;

/** Without what QEMU is not told: SEV_FEATURES and the measurement follow from the rest. */
function snpPlatform({ kind, firmware, cpu, policy, cbitpos, reducedPhysBits, gpus, idBlock, hostData }: SnpSettings) {
  const platform = { kind, firmware, cpu, policy, cbitpos, reducedPhysBits, gpus };
  return { ...platform, ...(idBlock && { idBlock }), ...(hostData !== undefined && { hostData }) };
}

function readShort(path: string): string {
  const file = openSync(path, 'r');
  try {
    if (fstatSync(file).size > settingsMost) throw new Error('a larger file');
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

function invalid(expected: string, got: string): ConfigurationError {
  const action = 'correct it, or make it again: veritrain host init';
  return new ConfigurationError('GUEST_SETTINGS', { expected, got, rule: 'settings of a guest', action });
}
