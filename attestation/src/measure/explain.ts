/**
 * Why a launch was measured as something else: one input after the other, then two at a time, is taken for what it may have
 * been instead, until the digest is the one that was reported. A digest that nothing here gives stays unexplained.
 */
import { fromHex, toHex } from '../base/bytes.js';
import { Rejection } from '../base/errors.js';
import { firmwareDigest, launchDigest, type LaunchInput } from './launch-digest.js';
import type { LaunchShape, MeasuredImage } from './manifest.js';
import { parseOvmf } from './ovmf.js';
import { cpuModelNames, cpuSignature } from './vmsa.js';

type InputName =
  ('firmware' | 'kernel' | 'initrd' | 'command line') | ('vCPUs' | 'CPU model' | 'SEV_FEATURES' | 'kernel hashes');

export interface LaunchDifference {
  readonly input: InputName;
  readonly expected: string;
  readonly found: string;
  /** What to do about it. */
  readonly action: string;
}

/** What else may have been launched: files that lie on the host, or those of other releases. */
export interface LaunchCandidates {
  readonly firmware?: readonly { readonly name: string; readonly image: Uint8Array }[];
  /** SHA-256, hexadecimal. */
  readonly kernels?: readonly string[];
  readonly initrds?: readonly string[];
  readonly cmdlines?: readonly string[];
}

interface Variant {
  readonly found: string;
  change(input: LaunchInput): LaunchInput;
}
interface Dimension {
  readonly input: InputName;
  readonly expected: string;
  /** Alone; beside another difference fewer are tried. */
  readonly variants: readonly Variant[];
  readonly besides: readonly Variant[];
}

/** Counts of vCPUs that are tried, each a chain of hashes of that length. */
const countsMost = 256;
const usualCounts = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128];
/** SEV_FEATURES that hosts switch on by themselves: bit 0 is SNP itself (AMD APM volume 2, table B-4). */
const featureBits = Array.from({ length: 15 }, (_, bit) => 1n << BigInt(bit + 1));

const actions: Readonly<Record<InputName, string>> = {
  firmware: 'give QEMU the firmware that the manifest names',
  kernel: 'fetch the image again, and compare the kernel’s SHA-256 with the manifest',
  initrd: 'fetch the image again, and compare the initrd’s SHA-256 with the manifest',
  'command line': 'give QEMU the command line of the manifest, without a newline',
  vCPUs: 'start the guest with the number of vCPUs that the policy’s measurement is of, or pin this one',
  'CPU model': 'start the guest with the CPU model that the policy’s measurement is of, or pin this one',
  SEV_FEATURES: 'load kvm_amd without what it adds (0x20 is debug_swap: debug_swap=0), or pin this one',
  'kernel hashes': 'start QEMU with kernel-hashes=on: without it kernel and initrd are not measured',
};

/**
 * @param firmware  that the manifest names
 * @param shape     as which the guest was to be launched
 * @param measured  MEASUREMENT of the report, hexadecimal
 * @returns nothing where it is as expected; null where no one or two of the candidates explain it
 * @throws Rejection SNP_MEASURE_*
 */
export function explainMeasurement(
  image: MeasuredImage,
  firmware: Uint8Array,
  shape: LaunchShape,
  measured: string,
  candidates: LaunchCandidates = {},
): readonly LaunchDifference[] | null {
  const meant = inputOf(image, firmware, shape);
  if (toHex(launchDigest(meant)) === measured) return [];
  const gives = (input: LaunchInput): boolean => digestOf(input) === measured;
  const dimensions = dimensionsOf(image, shape, candidates);
  for (const dimension of dimensions) {
    const variant = dimension.variants.find(({ change }) => gives(change(meant)));
    if (variant !== undefined) return [difference(dimension, variant)];
  }
  for (const [at, first] of dimensions.entries()) {
    for (const second of dimensions.slice(at + 1)) {
      for (const one of first.besides) {
        const changed = one.change(meant);
        const two = second.besides.find(({ change }) => gives(change(changed)));
        if (two !== undefined) return [difference(first, one), difference(second, two)];
      }
    }
  }
  return null;
}

/** Null where firmware that was tried measures no kernel. */
function digestOf(input: LaunchInput): string | null {
  try {
    return toHex(launchDigest(input));
  } catch (error) {
    if (error instanceof Rejection) return null;
    throw error;
  }
}

function difference({ input, expected }: Dimension, { found }: Variant): LaunchDifference {
  return { input, expected, found, action: actions[input] };
}

function inputOf({ files }: MeasuredImage, firmware: Uint8Array, shape: LaunchShape): LaunchInput {
  const kernel = {
    imageSha256: fromHex(files.kernel.sha256),
    initrdSha256: fromHex(files.initrd.sha256),
    commandLine: files.cmdline,
  };
  return {
    ...withFirmware(firmware),
    ...{ kernel, vcpus: shape.vcpus, cpuSignature: cpuSignature(shape.cpu) },
    ...{ guestFeatures: BigInt(shape.features), vmm: 'QEMU' },
  };
}

/** Its pages are hashed once, not for every variant. */
function withFirmware(firmware: Uint8Array): Pick<LaunchInput, 'firmware' | 'firmwareDigest'> {
  return { firmware, firmwareDigest: firmwareDigest(parseOvmf(firmware)) };
}

/** None of an image that is no OVMF for SEV. */
function firmwareVariant({ name, image }: { readonly name: string; readonly image: Uint8Array }): Variant[] {
  try {
    const other = withFirmware(image);
    return [{ found: name, change: (input) => ({ ...input, ...other }) }];
  } catch (error) {
    if (error instanceof Rejection) return [];
    throw error;
  }
}

function withoutKernel(input: LaunchInput): LaunchInput {
  const { kernel: _, ...others } = input;
  return others;
}

function dimensionsOf({ files }: MeasuredImage, shape: LaunchShape, candidates: LaunchCandidates): Dimension[] {
  const { firmware = [], kernels = [], initrds = [], cmdlines = [] } = candidates;
  const count = (vcpus: number): Variant => ({ found: `${vcpus}`, change: (input) => ({ ...input, vcpus }) });
  const of = (input: InputName, expected: string, variants: readonly Variant[], besides = variants): Dimension => ({
    ...{ input, expected, besides },
    variants,
  });
  const kernel = (found: string, part: Partial<NonNullable<LaunchInput['kernel']>>): Variant => ({
    found,
    change: (input) => ({ ...input, kernel: { ...input.kernel!, ...part } as NonNullable<LaunchInput['kernel']> }),
  });
  const features = BigInt(shape.features);
  return [
    of('firmware', 'that of the manifest', firmware.flatMap(firmwareVariant)),
    of(
      'kernel',
      files.kernel.sha256,
      kernels.map((sha) => kernel(sha, { imageSha256: fromHex(sha) })),
    ),
    of(
      'initrd',
      files.initrd.sha256,
      initrds.map((sha) => kernel(sha, { initrdSha256: fromHex(sha) })),
    ),
    of(
      'command line',
      files.cmdline,
      [...cmdlines, `${files.cmdline}\n`].map((line) => kernel(line, { commandLine: line })),
    ),
    of(
      'vCPUs',
      `${shape.vcpus}`,
      Array.from({ length: countsMost }, (_, index) => count(index + 1)),
      usualCounts.map(count),
    ),
    of(
      'CPU model',
      shape.cpu,
      cpuModelNames.map((name) => ({
        found: name,
        change: (input) => ({ ...input, cpuSignature: cpuSignature(name) }),
      })),
    ),
    of(
      'SEV_FEATURES',
      shape.features,
      featureBits.map((bit) => ({
        found: `0x${(features ^ bit).toString(16)}`,
        change: (input) => ({ ...input, guestFeatures: features ^ bit }),
      })),
    ),
    of('kernel hashes', 'on', [{ found: 'off', change: withoutKernel }]),
  ];
}
