/**
 * Stands in for QEMU: takes the options that a guest is started with and no other, measures as the firmware would, refuses a
 * launch that its ID block does not describe, and answers on the channel. FAKE_QEMU_FEATURES are those of the host.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { cpuSignature, launchDigest, verifyIdBlock } from '#attestation';
import { fromBase64, toHex } from '#attestation/base';
import { encodeSessionEvidence } from '#attestation/records';
import { nodeCommand, startProcess } from '#libs/process';
import { buildSnpReport } from '#libs/simulated-vendor';
import { encodeFrame, frameDecoder } from '#libs/wire/channel';

const flags = ['-nodefaults', '-no-user-config', '-no-reboot'];
const valued = [
  ...[
    '-display',
    '-m',
    '-smp',
    '-cpu',
    '-machine',
    '-accel',
    '-object',
    '-bios',
    '-kernel',
    '-initrd',
    '-append',
    '-serial',
  ],
  ...['-device', '-chardev', '-fw_cfg'],
];
const properties = [
  ...['id', 'policy', 'cbitpos', 'reduced-phys-bits', 'kernel-hashes', 'author-key-enabled', 'id-block', 'id-auth'],
  'host-data',
];

function fail(words: string): never {
  process.stderr.write(`qemu-system-x86_64: ${words}\n`);
  process.exit(1);
}

const words = process.argv.slice(2);
if (words[0] === '--version') {
  process.stdout.write(`QEMU emulator version ${process.env['FAKE_QEMU_VERSION'] ?? '10.0.2'} (stand-in for tests)\n`);
  process.exit(0);
}
const options = new Map<string, string[]>();
for (let at = 0; at < words.length; at++) {
  const word = words[at]!;
  if (flags.includes(word)) continue;
  if (!valued.includes(word)) fail(`${word}: invalid option`);
  options.set(word, [...(options.get(word) ?? []), words[++at]!]);
}
const one = (name: string): string => options.get(name)?.[0] ?? fail(`${name}: missing`);
const pairs = (text: string): Map<string, string> =>
  new Map(
    text
      .split(',')
      .slice(1)
      .map((pair) => [pair.split('=')[0]!, pair.slice(pair.indexOf('=') + 1)]),
  );
const path = pairs(one('-chardev')).get('path')!;
const snp = options.get('-object')?.find((text) => text.startsWith('sev-snp-guest,'));
writeFileSync(one('-serial').replace(/^file:/, ''), 'stand-in for a guest\n');

if (snp === undefined) {
  const vendor = ['--attester', 'simulated', '--vendor', 'test/support/fixtures/test-vendor-milan.json'];
  const command = nodeCommand('../../enclave/src/main', import.meta.url, ['--listen', 'fd:3', ...vendor]);
  const { child, exited } = startProcess(command, { stdio: ['ignore', 'ignore', 'ignore', 'pipe'], endsWithUs: true });
  const port = child.stdio[3] as Socket;
  port.on('error', () => undefined);
  createServer((socket: Socket) => {
    socket.on('error', () => undefined);
    socket.on('close', () => port.destroy());
    socket.pipe(port).pipe(socket);
  }).listen(path);
  process.once('SIGTERM', () => process.exit(0));
  process.exit((await exited) ?? 1);
}

const guest = pairs(snp);
for (const name of guest.keys()) if (!properties.includes(name)) fail(`Property 'sev-snp-guest.${name}' not found`);
const digest = toHex(
  launchDigest({
    firmware: new Uint8Array(readFileSync(one('-bios'))),
    ...(guest.get('kernel-hashes') === 'on' && {
      kernel: {
        image: new Uint8Array(readFileSync(one('-kernel'))),
        initrd: new Uint8Array(readFileSync(one('-initrd'))),
        commandLine: one('-append'),
      },
    }),
    vcpus: Number(one('-smp')),
    cpuSignature: cpuSignature(one('-cpu')),
    guestFeatures: BigInt(process.env['FAKE_QEMU_FEATURES'] ?? '0x1'),
    vmm: 'QEMU',
  }),
);
const [block, auth] = [guest.get('id-block'), guest.get('id-auth')];
if (block !== undefined && auth !== undefined) {
  const said = await verifyIdBlock(fromBase64(block), fromBase64(auth));
  if (said.measurement !== digest || said.policy !== BigInt(guest.get('policy')!))
    fail('sev_snp_launch_finish: SNP_LAUNCH_FINISH ret=-5 fw_error=0x1d BAD_MEASUREMENT');
}

const key = new Uint8Array(32);
const evidence = (nonce: Uint8Array): Uint8Array =>
  encodeSessionEvidence({
    ...{ version: 2, nonce, proof: new Uint8Array(64), gpus: [], claims: new Uint8Array() },
    binding: {
      ...{ receiptKey: key, settlementKey: new Uint8Array(20), transportKey: key },
      ...{ provider: new Uint8Array(20), chainId: 0, registry: new Uint8Array(20) },
    },
    cpu: {
      kind: 'snp',
      certificates: [],
      report: buildSnpReport({ MEASUREMENT: Uint8Array.from(Buffer.from(digest, 'hex')) }),
    },
  });
createServer((socket: Socket) => {
  const decoder = frameDecoder();
  socket.on('close', () => process.exit(0));
  socket.on('error', () => process.exit(0));
  socket.on('data', (chunk) => {
    for (const message of decoder.push(chunk) as Map<string, unknown>[]) {
      const body = message.get('type') === 'attest' ? evidence(message.get('nonce') as Uint8Array) : Uint8Array.of(1);
      socket.write(encodeFrame({ type: 'ok', id: message.get('id') as number, body }));
    }
  });
}).listen(path);
