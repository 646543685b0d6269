/** `veritrain policy add-image`: a policy that names the images of a signed measurement manifest. */
import { Option, type Command } from 'commander';
import { documentDigest, openDemands } from '#attestation';
import { writeWhole } from '#libs/client/files';
import { printResult, table, type OutputOptions } from '../output.js';
import { imageBodies, policyBody, publishing, publishMade, type PublishOptions } from './log-publish.js';
import { pinImage, readManifests, type PinBy } from '../policy/add-image.js';

interface AddImageOptions extends OutputOptions, PublishOptions {
  readonly logKey?: string;
  readonly policy: string;
  readonly publicKey: Uint8Array;
  readonly firmware: string;
  readonly second?: string;
  readonly secondKey?: Uint8Array;
  readonly oneBuilder?: boolean;
  readonly by: PinBy;
  readonly acpi?: 'off';
  readonly out: string;
}

export function addImageCommand(policy: Command, publicKey: (text: string) => Uint8Array): void {
  publishing(
    policy
      .command('add-image')
      .argument('<manifest>', 'a signed measurement manifest of a guest')
      .description(
        'compute the measurements of a signed manifest again and pin them in a policy, for example the template',
      )
      .requiredOption('--policy <file>', 'the policy, or the template of one')
      .requiredOption('--public-key <hex>', 'Ed25519 public key of the builder that signed it', publicKey)
      .requiredOption('--firmware <file>', 'the firmware that the manifest names: every measurement begins with it')
      .option('--second <file>', 'the manifest as a second builder signed it')
      .option('--second-key <hex>', 'Ed25519 public key of the second builder', publicKey)
      .option('--one-builder', 'be content with one builder, for example yourself')
      .addOption(
        new Option('--by <name>', 'pin each launch, or the key that signs launches with its least security version')
          .choices(['measurements', 'id-key'])
          .default('measurements'),
      )
      .addOption(
        new Option('--acpi <state>', 'off: demand a guest that takes no ACPI tables of its host').choices(['off']),
      )
      .requiredOption('--out <file>', 'where the policy is written')
      .option('--log-key <file>', 'Ed25519 secret that signs the entries: 32 bytes as 0x-hexadecimal')
      .option('--json', 'print one JSON document'),
  ).action(add);
}

async function add(file: string, options: AddImageOptions): Promise<void> {
  const { publicKey, second, secondKey, oneBuilder, firmware, by, out } = options;
  const other = second !== undefined && secondKey !== undefined ? [{ file: second, publicKey: secondKey }] : [];
  const manifest = await readManifests([{ file, publicKey }, ...other], firmware);
  const builders = oneBuilder === true ? 2 : 1 + other.length;
  const { policy, dropped, added } = pinImage(options.policy, manifest, {
    by,
    builders,
    ...(options.acpi && { acpi: options.acpi }),
  });
  writeWhole(out, `${JSON.stringify(policy, undefined, 2)}\n`);
  const logged = await publishMade(options, options.logKey, out, [policyBody(policy), ...imageBodies(manifest)]);
  const { tag, commit, flavour } = manifest;
  const notDemanded = openDemands(policy);
  const result = { id: policy.id, digest: documentDigest(policy), image: { tag, commit, flavour }, by, added, dropped };
  printResult(options, { ok: true, ...result, notDemanded, file: out, logged }, () =>
    table([
      ['image', `${tag} ${flavour}, commit ${commit}`],
      ...added.map((pin) => [by === 'id-key' ? 'ID key' : 'measurement', pin] as const),
      ...dropped.map((kind) => ['no longer accepted', `${kind}: the policy names no code for it`] as const),
      ...notDemanded.map(({ field, sentence }) => ['not demanded', `${field}: ${sentence}`] as const),
      ['policy', `${policy.id} ${result.digest}`],
      ['file', out],
      ...logged.map(({ index, entry }) => ['logged', `at ${index}: ${entry}`] as const),
    ]),
  );
}
