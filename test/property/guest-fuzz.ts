/**
 * Mutates by a seed what a guest and those who build and check it read from strangers: frames of the channel, signed
 * manifests, manifests as text, a built image's description, the lock, the list of the image and package-lock.json.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  enforcingFirmware,
  firmwareLaunch,
  readGuestManifest,
  verifyGuestManifest,
  verifyLaunches,
  type GuestManifest,
} from '#attestation';
import { decodeCanonical, encodeCanonical, equalBytes, toHex, type CborValue } from '#attestation/base';
import { readImage, type BuiltGuest } from '#libs/guest';
import { encodeFrame, frameDecoder, parseRequest } from '#libs/wire/channel';
import { madeGuest, writeBuiltGuest } from '#test/made-guest';
import { inputsOf, recipeOf } from '../../libs/guest/src/image/contents.js';
import { inputFile } from '../../libs/guest/src/image/inputs.js';
import { packageInputs, readImageList, readLock, type PackageInput } from '../../libs/guest/src/image/lock.js';
import { fuzz, judged, type FuzzReport, type OnProgress, type Verdict } from './fuzz.js';
import { mutantOf } from './mutants.js';
import type { Draw } from './random.js';
import { cborMutant, treeMutant } from './tree-mutants.js';

export interface GuestReaders {
  frames(bytes: Uint8Array): readonly unknown[];
  signed(bytes: Uint8Array, publicKey: Uint8Array): Promise<GuestManifest>;
  manifest(json: string, firmware: Uint8Array): Promise<GuestManifest>;
  image(folder: string): BuiltGuest;
  recipe(folder: string): readonly string[];
  packages(folder: string): readonly PackageInput[];
}

const packageFolder = 'node_modules/cbor-x';

export const guestReaders: GuestReaders = {
  frames: (bytes) => frameDecoder().push(bytes),
  signed: verifyGuestManifest,
  async manifest(json, firmware) {
    const manifest = readGuestManifest(json);
    await verifyLaunches(manifest, firmware);
    return manifest;
  },
  image: readImage,
  packages: (folder) => [...packageInputs([packageFolder], folder).values()],
  recipe: (folder) => inputsOf(recipeOf('dev', readLock(folder), readImageList(folder))).map(inputFile),
};

interface Kind {
  readonly name: GuestKind;
  trial(draw: Draw): { readonly input: string; run(): Promise<Verdict> };
}

export const guestKinds = ['frames', 'signed', 'manifest', 'image', 'recipe', 'packages'] as const;
export type GuestKind = (typeof guestKinds)[number];

const requests = [
  { type: 'open', id: 1, provider: new Uint8Array(20), chainId: 31_337, registry: new Uint8Array(20).fill(2) },
  { type: 'attest', id: 2, nonce: new Uint8Array(32).fill(3) },
  { type: 'shard', id: 3, index: 0, ciphertext: new Uint8Array(300).fill(4) },
  { type: 'train', id: 4, checkpoint: null, threads: 1 },
];
const frames = requests.map(encodeFrame);

/** Frames have one form: what is read says the bytes that came. */
function framesKind(by: GuestReaders): Kind {
  return {
    name: 'frames',
    trial(draw) {
      const genuine = frames[draw(frames.length)]!;
      const other = frames[draw(frames.length)]!;
      const body = genuine.subarray(4);
      const mutant =
        draw(2) === 0 ? mutantOf(genuine, draw, other) : framed(cborMutant(decodeCanonical(body), body, draw));
      return {
        input: toHex(mutant),
        run: () =>
          judged(
            () => requestsIn(by.frames(mutant)),
            (found) => frameVerdict(mutant, found),
          ),
      };
    },
  };
}

/** A message that is no request is refused by the shape of requests. */
function requestsIn(messages: readonly unknown[]): readonly unknown[] {
  for (const message of messages) parseRequest(message);
  return messages;
}

function framed(body: Uint8Array): Uint8Array {
  const frame = new Uint8Array(4 + body.length);
  new DataView(frame.buffer).setUint32(0, body.length);
  frame.set(body, 4);
  return frame;
}

function frameVerdict(bytes: Uint8Array, messages: readonly unknown[]): Verdict {
  let at = 0;
  for (const message of messages) {
    const again = framed(encodeCanonical(message as CborValue));
    if (!equalBytes(again, bytes.subarray(at, at + again.length))) return 'accepted';
    at += again.length;
  }
  return 'taken';
}

/** @param count mutants of one kind; @param by what reads them */
export async function fuzzGuest(
  kind: GuestKind,
  count: number,
  seed: number,
  onProgress?: OnProgress,
  by: GuestReaders = guestReaders,
): Promise<FuzzReport> {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-guest-fuzz-'));
  const guest = await madeGuest();
  const listed = enforcingFirmware as unknown as (typeof enforcingFirmware)[number][];
  const { sha256 } = guest.manifest.firmware;
  listed.push({ name: 'made here', sha256, seen: '2026-11-26', launch: firmwareLaunch(guest.firmware) });
  try {
    const { trial } = await kindOf(kind, folder, guest, by);
    return await fuzz(
      count,
      seed,
      (draw) => {
        const { input, run } = trial(draw);
        return { target: kind, input: () => input, run };
      },
      onProgress,
    );
  } finally {
    listed.splice(
      listed.findIndex((one) => one.sha256 === sha256),
      1,
    );
    rmSync(folder, { recursive: true, force: true });
  }
}

type Made = Awaited<ReturnType<typeof madeGuest>>;

async function kindOf(kind: GuestKind, folder: string, guest: Made, by: GuestReaders): Promise<Kind> {
  switch (kind) {
    case 'frames':
      return framesKind(by);
    case 'signed':
      return signedKind(guest, by);
    case 'manifest':
      return manifestKind(guest, by);
    case 'image':
      return imageKind(folder, guest, by);
    case 'recipe':
      return recipeKind(folder, by);
    case 'packages':
      return packagesKind(folder, by);
  }
}

async function signedKind({ manifest, builders: [builder, stranger] }: Made, by: GuestReaders): Promise<Kind> {
  const signed = await builder.sign(manifest);
  const other = await stranger.sign({ ...manifest, tag: 'another' });
  const genuine = JSON.stringify(manifest);
  return {
    name: 'signed',
    trial(draw) {
      const mutant = draw(8) === 0 ? cborMutant(decodeCanonical(signed), signed, draw) : mutantOf(signed, draw, other);
      const accept = (read: GuestManifest): Verdict => (JSON.stringify(read) === genuine ? 'taken' : 'accepted');
      return { input: toHex(mutant), run: () => judged(() => by.signed(mutant, builder.publicKey), accept) };
    },
  };
}

/** What the measurements and ID blocks of a manifest bind. */
function boundBy({ files, firmware, guestSvn, idKeyDigest, authorKeyDigest, launch }: GuestManifest): string[] {
  const image = [files.kernel.sha256, files.initrd.sha256, files.cmdline, firmware.sha256, guestSvn];
  const keys = [idKeyDigest, authorKeyDigest];
  return launch.map(({ vcpus, cpu, features, policy, measurement, idBlock, idAuth }) =>
    // Versioned names of a model are one model.
    JSON.stringify([
      ...image,
      ...keys,
      vcpus,
      cpu.replace(/-v\d$/, ''),
      BigInt(features).toString(),
      policy,
      measurement,
      idBlock,
      idAuth,
    ]),
  );
}

function manifestKind({ manifest, firmware }: Made, by: GuestReaders): Kind {
  const genuine = new Set(boundBy(manifest));
  return {
    name: 'manifest',
    trial(draw) {
      const mutant = JSON.stringify(treeMutant(manifest, draw)) ?? '';
      const accept = (read: GuestManifest): Verdict =>
        boundBy(read).every((line) => genuine.has(line)) ? 'taken' : 'accepted';
      return { input: mutant, run: () => judged(() => by.manifest(mutant, firmware), accept) };
    },
  };
}

/** A description is taken where it says the files that lie there. */
function imageKind(folder: string, guest: Made, by: GuestReaders): Kind {
  const built = writeBuiltGuest(folder, guest);
  const parts = ({ kernel, initrd, firmware, cmdline }: BuiltGuest): string =>
    JSON.stringify([kernel, initrd, { ...firmware, name: '' }, cmdline]);
  const tree = JSON.parse(JSON.stringify(built)) as unknown;
  return {
    name: 'image',
    trial(draw) {
      const text = draw(4) === 0 ? textMutant(JSON.stringify(built), draw) : JSON.stringify(treeMutant(tree, draw));
      const run = (): Promise<Verdict> => {
        writeFileSync(join(folder, 'image.json'), text ?? '');
        return judged(
          () => by.image(folder),
          (read) => (parts(read) === parts(built) ? 'taken' : 'accepted'),
        );
      };
      return { input: text ?? '', run };
    },
  };
}

function textMutant(text: string, draw: Draw): string {
  return Buffer.from(mutantOf(Buffer.from(text), draw)).toString('latin1');
}

/** Lock and list of the image: taken where every path stays inside, and each input and each path stands once. */
function recipeKind(folder: string, by: GuestReaders): Kind {
  const names = ['guest.lock.json', 'image.json'] as const;
  const genuine = new Map(names.map((name) => [name, readFileSync(join('enclave/guest', name), 'utf8')] as const));
  return {
    name: 'recipe',
    trial(draw) {
      const name = names[draw(names.length)]!;
      const text = genuine.get(name)!;
      const mutant =
        draw(4) === 0 ? textMutant(text, draw) : (JSON.stringify(treeMutant(JSON.parse(text), draw)) ?? '');
      const run = (): Promise<Verdict> => {
        for (const [each, whole] of genuine) writeFileSync(join(folder, each), each === name ? mutant : whole);
        return judged(
          () => by.recipe(folder),
          (names) => (names.every((file) => /^\w[^/]*$/.test(file)) ? recipeVerdict(mutant) : 'accepted'),
        );
      };
      return { input: `${name}: ${mutant}`, run };
    },
  };
}

function recipeVerdict(text: string): Verdict {
  const { debian = [], npm = [], system = [] } = JSON.parse(text) as Record<string, { name: string; path: string }[]>;
  const once = [debian.map(({ name }) => name), npm.map(({ name }) => name), system.map(({ path }) => path)];
  if (once.some((all) => new Set(all).size < all.length)) return 'accepted';
  const paths = [...text.matchAll(/"(?:path|member|file|source)":"([^"]*)"/g)].map(([, path]) => path!);
  return paths.every((path) => !path.startsWith('/') && !path.split('/').includes('..')) ? 'taken' : 'accepted';
}

/** One entry of package-lock.json: taken where version and digest have their form. */
function packagesKind(folder: string, by: GuestReaders): Kind {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, unknown> };
  const tree = { packages: { [packageFolder]: packages[packageFolder] } };
  return {
    name: 'packages',
    trial(draw) {
      const text = JSON.stringify(tree);
      const mutant = draw(2) === 0 ? textMutant(text, draw) : (JSON.stringify(treeMutant(tree, draw)) ?? '');
      const run = (): Promise<Verdict> => {
        writeFileSync(join(folder, 'package-lock.json'), mutant);
        return judged(
          () => by.packages(folder),
          (found) => (found.every(isPinned) ? 'taken' : 'accepted'),
        );
      };
      return { input: mutant, run };
    },
  };
}

function isPinned({ name, version, integrity }: PackageInput): boolean {
  return name === 'cbor-x' && /^[^/\s]+$/.test(version) && /^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity);
}
