/** Pins the images of a signed measurement manifest in a policy: nobody types a measurement. */
import {
  encodeDocument,
  isAcpiOff,
  missingPin,
  parsePolicy,
  verifyGuestManifest,
  verifyLaunches,
  type AppraisalPolicy,
  type GuestManifest,
} from '#attestation';
import { ConfigurationError, equalBytes, Rejection } from '#attestation/base';
import { readBytes, readJson } from '#libs/client/files';

/** What one builder published. */
interface SignedManifest {
  readonly file: string;
  readonly publicKey: Uint8Array;
}

export type PinBy = 'measurements' | 'id-key';

const manifestMost = 4 * 1024 * 1024;
const firmwareMost = 64 * 1024 * 1024;
const rule = 'apps/key-broker/policies/README.md';

/**
 * Reads the manifest of each builder, demands that they say the same, and computes every measurement in it again.
 * @throws ConfigurationError FILE_*; Rejection COSE_*, GUEST_BUILDERS, GUEST_MANIFEST, GUEST_FIRMWARE, SNP_*
 */
export async function readManifests(signed: readonly SignedManifest[], firmware: string): Promise<GuestManifest> {
  const read: GuestManifest[] = [];
  for (const { file, publicKey } of signed)
    read.push(await verifyGuestManifest(readBytes(file, manifestMost), publicKey));
  const [first, ...others] = read;
  const bytes = encodeDocument(first!);
  if (!others.every((other) => equalBytes(encodeDocument(other), bytes)))
    throw new Rejection('GUEST_BUILDERS', {
      ...{ expected: 'builders that say the same of an image', got: 'manifests that differ', rule },
      action: 'compare files.txt of both; neither image counts until they are equal',
    });
  await verifyLaunches(first!, readBytes(firmware, firmwareMost));
  return first!;
}

interface PinRequest {
  readonly by: PinBy;
  /** How many signed the manifest. */
  readonly builders: number;
  /** Demand it, as a policy does that has the demand already. */
  readonly acpi?: 'off';
}

interface Pinned {
  readonly policy: AppraisalPolicy;
  /** Kinds that the template accepted and for which it names no code. */
  readonly dropped: readonly string[];
  /** Measurements, or the digest of the ID key. */
  readonly added: readonly string[];
}

/**
 * @param template  as a file of JSON; its pins may be open
 * @throws ConfigurationError FILE_*, POLICY_*, GUEST_ONE_BUILDER; Rejection DOCUMENT_*, GUEST_FLAVOUR, GUEST_ID_KEY, GUEST_SVN,
 *   GUEST_ACPI
 */
export function pinImage(template: string, manifest: GuestManifest, { by, builders, acpi }: PinRequest): Pinned {
  const json = readJson(template) as Record<string, unknown>;
  const isProduction = json['environment'] === 'production';
  const open = parsePolicy(JSON.stringify({ ...json, environment: 'development' }));
  if (isProduction) demandProduction(manifest, builders);
  const { snp: pinned, added } = by === 'id-key' ? keyPins(open, manifest) : measurementPins(open, manifest);
  const isAcpiDemanded = (acpi ?? open.snp.acpi) === 'off';
  const snp = isAcpiDemanded
    ? { ...pinned, acpi: 'off' as const, launches: describedLaunches(open, manifest) }
    : pinned;
  const filled = { ...open, snp };
  const kinds = filled.cpuKinds?.filter((kind) => kind === 'snp' || missingPin(kind, filled) === undefined);
  const policy = { ...filled, ...(isProduction && kinds && { cpuKinds: kinds }) };
  const dropped = isProduction ? (filled.cpuKinds ?? []).filter((kind) => !policy.cpuKinds?.includes(kind)) : [];
  return { policy: parsePolicy(JSON.stringify({ ...policy, environment: json['environment'] })), dropped, added };
}

function demandProduction({ flavour }: GuestManifest, builders: number): void {
  if (flavour === 'dev')
    throw new Rejection('GUEST_FLAVOUR', {
      ...{ expected: 'an image of flavour cpu or gpu', got: 'dev, whose hardware is simulated', rule },
      action: 'pin it in a policy for development, or take the production image',
    });
  if (builders < 2)
    throw new ConfigurationError('GUEST_ONE_BUILDER', {
      ...{ expected: 'an image that two builders signed', got: 'one', rule },
      action: 'name the second with --second and --second-key, or build it yourself and say --one-builder',
    });
}

interface Pins {
  readonly snp: AppraisalPolicy['snp'];
  readonly added: readonly string[];
}

function measurementPins({ snp }: AppraisalPolicy, { launch }: GuestManifest): Pins {
  const added = [...new Set(launch.map(({ measurement }) => measurement))];
  return { snp: { ...snp, measurements: [...new Set([...(snp.measurements ?? []), ...added])] }, added };
}

/** Those of the policy and those of the image: the appraiser computes the measurement of each again. */
function describedLaunches({ snp }: AppraisalPolicy, { files, firmware, launch }: GuestManifest): SnpLaunches {
  if (!isAcpiOff(files.cmdline))
    throw new Rejection('GUEST_ACPI', {
      ...{ expected: 'an image with acpi=off on its command line', got: files.cmdline, rule },
      action: 'take or build one with --acpi off: the policy demands that the guest runs no ACPI code of its host',
    });
  const { kernel, initrd, cmdline: commandLine } = files;
  const described = launch.map(({ vcpus, cpu, features }) => ({
    ...{ firmware: firmware.sha256, kernel: kernel.sha256, initrd: initrd.sha256, commandLine },
    ...{ vcpus, cpu: cpu.replace(/-v\d$/, ''), features: Number(features) },
  }));
  const all = [...(snp.launches ?? []), ...described].map((each) => [JSON.stringify(each), each] as const);
  return [...new Map(all).values()];
}

type SnpLaunches = NonNullable<AppraisalPolicy['snp']['launches']>;

/** One line for all shapes and later images: whatever the key signed with this security version or a later one. */
function keyPins({ snp }: AppraisalPolicy, { guestSvn, idKeyDigest, authorKeyDigest }: GuestManifest): Pins {
  if (idKeyDigest === undefined)
    throw new Rejection('GUEST_ID_KEY', {
      ...{ expected: 'launches with ID blocks', got: 'none', rule },
      action: 'pin the measurements: --by measurements',
    });
  const minimum = snp.guestSvnMinimum ?? 0;
  if (minimum > guestSvn)
    throw new Rejection('GUEST_SVN', {
      ...{ expected: `security version ${minimum} or later, as the policy demands`, got: `${guestSvn}`, rule },
      action: 'take a later image, or lower snp.guestSvnMinimum yourself',
    });
  // An open list of measurements would admit none besides.
  const { measurements, ...others } = snp;
  const pins = {
    ...{ idKeyDigests: [...new Set([...(snp.idKeyDigests ?? []), idKeyDigest])], guestSvnMinimum: guestSvn },
    ...(authorKeyDigest !== undefined && {
      authorKeyDigests: [...new Set([...(snp.authorKeyDigests ?? []), authorKeyDigest])],
    }),
    ...(measurements !== undefined && measurements.length > 0 && { measurements }),
  };
  return { snp: { ...others, ...pins }, added: [idKeyDigest] };
}
