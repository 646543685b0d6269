/** `veritrain policy check | add-image | sign | verify | snp | schema`. */
import * as ed25519 from '@noble/ed25519';
import type { Command } from 'commander';
import {
  documentDigest,
  openDemands,
  policyJsonSchema,
  signPolicy,
  verifyPolicy,
  type AppraisalPolicy,
} from '#attestation';
import { ed25519Signer, toHex } from '#attestation/base';
import { readPolicy } from '#libs/client/judging';
import { readBytes, readSecret, writeWhole } from '#libs/client/files';
import { printResult, table, type OutputOptions } from '../output.js';
import { publicKey } from './ids.js';
import { pinsOf } from './log-pins.js';
import { checkLogged, withLogged, type LoggedOptions } from './log-verified.js';
import { policyBody, publishing, publishMade, type PublishOptions } from './log-publish.js';
import { addImageCommand } from './policy-image.js';
import { addSnpPolicyCommand } from './policy-snp.js';

const signedBytesMax = 1024 * 1024;

export function addPolicyCommands(policy: Command): void {
  addCheck(policy);
  addImageCommand(policy, publicKey);
  addSign(policy);
  addSnpPolicyCommand(policy);
  policy
    .command('verify')
    .argument('<file>', 'a signed policy')
    .description('verify the signature of a policy and print the policy')
    .requiredOption('--public-key <hex>', 'Ed25519 public key of the signer', publicKey)
    .option('--json', 'print one JSON document')
    .action(async (file: string, options: OutputOptions & { publicKey: Uint8Array }) => {
      const verified = await verifyPolicy(readBytes(file, signedBytesMax), options.publicKey);
      const summary = summaryOf(verified);
      printResult(options, { ok: true, ...summary, policy: verified }, () => JSON.stringify(verified, null, 2));
    });
  policy
    .command('schema')
    .description('print the JSON Schema of a policy')
    .action(() => void process.stdout.write(`${JSON.stringify(policyJsonSchema(), null, 2)}\n`));
}

function addCheck(policy: Command): void {
  withLogged(
    policy
      .command('check')
      .argument('<file>', 'a policy as JSON')
      .description('read a policy strictly, print its digest and say what it does not demand')
      .option('--json', 'print one JSON document'),
  ).action(async (file: string, options: OutputOptions & LoggedOptions) => {
    const { policy: read } = readPolicy(file);
    const { pins, notLookedUp } = pinsOf(read);
    const logged = await checkLogged(pins, options, read.environment === 'production');
    const looked = logged !== null && { measurementsLogged: logged, notLookedUp };
    const summary = { ...summaryOf(read), ...looked };
    const notDemanded = openDemands(read);
    printResult(options, { ok: true, ...summary, notDemanded }, () => {
      const open = table(notDemanded.map(({ field, sentence }) => [field, sentence]));
      const lines = table(
        Object.entries(summary).map(([name, value]) => [name, [value].flat().join(', ') || 'nothing']),
      );
      return `${lines}\n\nNot demanded:\n${open === '' ? 'nothing is left open' : open}`;
    });
  });
}

function addSign(policy: Command): void {
  publishing(
    policy
      .command('sign')
      .argument('<file>', 'a policy as JSON')
      .description('sign a policy: COSE_Sign1 with Ed25519 over its deterministic encoding')
      .requiredOption('--key <file>', 'Ed25519 secret key: 32 bytes as 0x-hexadecimal')
      .requiredOption('--out <file>', 'where the signed policy is written')
      .option('--json', 'print one JSON document'),
  ).action(async (file: string, options: OutputOptions & PublishOptions & { key: string; out: string }) => {
    const { policy: read } = readPolicy(file);
    const secret = readSecret(options.key);
    const publicKeyBytes = await ed25519.getPublicKeyAsync(secret);
    const signed = await signPolicy(read, publicKeyBytes, ed25519Signer(secret));
    writeWhole(options.out, signed);
    const logged = await publishMade(options, options.key, options.out, [policyBody(read, publicKeyBytes)]);
    const summary = { ...summaryOf(read), publicKey: toHex(publicKeyBytes), file: options.out };
    const place = logged.map(({ index, entry }) => ['logged', `at ${index}: ${entry}`] as const);
    printResult(options, { ok: true, ...summary, logged }, () => table([...Object.entries(summary), ...place]));
  });
}

function summaryOf(policy: AppraisalPolicy) {
  const { id, environment, notBefore, notAfter } = policy;
  return {
    id,
    environment,
    digest: documentDigest(policy),
    notBefore: `${notBefore}`,
    notAfter: notAfter === undefined ? 'open' : `${notAfter}`,
  };
}
