/** A release of a made-up guest: packed, fetched from a folder and over HTTP, interrupted, altered, and signed by others. */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { toHex } from '#attestation/base';
import { startProcess, tailOf } from '#libs/process';
import { describeMadeImage, madeGuest, withListed, writeMadeImage, type MadeGuest } from '#test/made-guest';
import { runCommand, type Ran } from '#test/run-command';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-release-'));
const at = (...parts: readonly string[]): string => join(folder, ...parts);
const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const tag = 'v0.0.0-test';
let guest: MadeGuest;
let keys: readonly string[];

const pack = (image: string, layout: string) =>
  runCommand(
    ...['guest', 'pack', image, '--tag', tag, '--out', layout],
    ...['--manifest', at('first.cose'), at('second.cose')],
  );
async function fetchFrom(from: string, out: string, ...more: readonly string[]): Promise<Ran> {
  let ran: Ran | undefined;
  const named = more.length > 0 ? more : keys.flatMap((key) => ['--public-key', key]);
  const args = ['--flavour', 'cpu', '--from', from, '--out', out, ...named];
  await withListed(guest.firmware, async () => void (ran = await runCommand('guest', 'fetch', tag, ...args)));
  return ran!;
}
const codeOf = ({ json }: Ran): unknown => (json['error'] as { code: string } | undefined)?.code;
const blobOf = (name: string): string =>
  at(
    'layout/blobs/sha256',
    createHash('sha256')
      .update(readFileSync(at('image', name)))
      .digest('hex'),
  );

beforeAll(async () => {
  guest = await madeGuest();
  writeMadeImage(at('image'), guest);
  for (const [index, name] of ['first', 'second'].entries())
    writeFileSync(at(`${name}.cose`), await guest.builders[index]!.sign(guest.manifest));
  keys = guest.builders.map(({ publicKey }) => toHex(publicKey));
  expect((await pack(at('image'), at('layout'))).json).toMatchObject({ ok: true, name: `${tag}-cpu` });
});

describe('a release in a folder', () => {
  it('comes whole, signed by both, and again over itself; packed again it is the same', async () => {
    for (let round = 0; round < 2; round++)
      expect((await fetchFrom(at('layout'), at('out'))).json).toMatchObject({ ok: true, builders: 2, launches: 2 });
    for (const name of ['vmlinuz', 'initrd.img', 'cmdline', 'firmware.fd'])
      expect(readFileSync(at('out', name)).equals(readFileSync(at('image', name)))).toBe(true);
    await pack(at('image'), at('again'));
    expect(readFileSync(at('again/index.json'))).toEqual(readFileSync(at('layout/index.json')));
  });

  it.each<[string, string, () => readonly string[]]>([
    ['one builder where two are wanted', 'GUEST_ONE_BUILDER', () => ['--public-key', keys[0]!]],
    ['a stranger’s key', 'GUEST_BUILDERS', () => ['--public-key', keys[0]!, '--public-key', 'ab'.repeat(32)]],
    ['no key', 'GUEST_RELEASE', () => ['--one-builder']],
  ])('is refused with %s', async (_, code, more) => {
    expect(codeOf(await fetchFrom(at('layout'), at('refused'), ...more()))).toBe(code);
  });

  it('is refused where its image is another than the one that was signed', async () => {
    cpSync(at('image'), at('other-image'), { recursive: true });
    writeFileSync(at('other-image/initrd.img'), 'another');
    describeMadeImage(at('other-image'), guest);
    await pack(at('other-image'), at('other-layout'));
    const ran = await fetchFrom(at('other-layout'), at('other-out'));
    expect([codeOf(ran), JSON.stringify(ran.json).includes('initrd')]).toEqual(['GUEST_BUILDERS', true]);
  });

  it.each<[string, (index: Forged) => void]>([
    ['another tag', (index) => (index.manifests[0]!.annotations['org.opencontainers.image.ref.name'] = 'v9-cpu')],
    ['another digest', (index) => (index.manifests[0]!.digest = `sha256:${'0'.repeat(64)}`)],
    ['a digest that is a path', (index) => (index.manifests[0]!.digest = 'sha256:../../../etc/passwd')],
    ['a size beyond the limit', (index) => (index.manifests[0]!.size = 2 ** 40)],
  ])('GUEST_RELEASE, or gone: an index with %s', async (name, forge) => {
    const forged = at(`index-${name.replaceAll(' ', '-')}`);
    cpSync(at('layout'), forged, { recursive: true });
    const index = JSON.parse(readFileSync(join(forged, 'index.json'), 'utf8')) as Forged;
    forge(index);
    writeFileSync(join(forged, 'index.json'), JSON.stringify(index));
    expect(codeOf(await fetchFrom(forged, at('forged-out')))).toMatch(/^GUEST_(RELEASE|INPUT_GONE)$/);
  });

  it.each<[string, string]>([
    ['a title that leads out of the folder', '../vmlinuz'],
    ['a title that stands twice', 'initrd.img'],
  ])('GUEST_RELEASE: a manifest with %s', async (_, title) => {
    const forged = at(`title-${title.replaceAll(/\W/g, '')}`);
    cpSync(at('layout'), forged, { recursive: true });
    const index = JSON.parse(readFileSync(join(forged, 'index.json'), 'utf8')) as Forged;
    const blob = (digest: string): string => join(forged, 'blobs/sha256', digest.slice('sha256:'.length));
    const text = readFileSync(blob(index.manifests[0]!.digest), 'utf8').replace('"vmlinuz"', JSON.stringify(title));
    const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`;
    writeFileSync(blob(digest), text);
    index.manifests[0]!.digest = digest;
    writeFileSync(join(forged, 'index.json'), JSON.stringify(index));
    expect(codeOf(await fetchFrom(forged, at('title-out')))).toBe('GUEST_RELEASE');
    expect(existsSync(at('vmlinuz'))).toBe(false);
  });

  it('GUEST_INPUT_GONE, GUEST_INPUT_DIGEST: a file that is not there, or another', async () => {
    const path = blobOf('initrd.img');
    const bytes = readFileSync(path);
    try {
      rmSync(path);
      expect(codeOf(await fetchFrom(at('layout'), at('gone')))).toBe('GUEST_INPUT_GONE');
      writeFileSync(path, Buffer.from(bytes).fill(0, 0, 1));
      expect(codeOf(await fetchFrom(at('layout'), at('gone')))).toBe('GUEST_INPUT_DIGEST');
      expect(existsSync(at('gone/initrd.img.partial'))).toBe(false);
      writeFileSync(path, Buffer.concat([bytes, bytes]));
      expect(codeOf(await fetchFrom(at('layout'), at('gone')))).toBe('GUEST_INPUT_DIGEST');
    } finally {
      writeFileSync(path, bytes);
    }
  });
});

interface Forged {
  readonly manifests: { digest: string; size: number; readonly annotations: Record<string, string> }[];
}

const skopeo = await startProcess(['skopeo', '--version'], { stdio: 'ignore' }).exited;
if (skopeo !== 0) console.warn('SKIPPED: skopeo is not installed, no other program reads the layout');
describe.skipIf(skopeo !== 0)('a release, for skopeo', () => {
  const run = async (...words: readonly string[]): Promise<readonly [number | null, string]> => {
    const { child, exited } = startProcess(['skopeo', ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
    const said = tailOf(child.stdout!, 100_000);
    return [await exited, said()];
  };

  it('is an artifact under its name, whose parts have the digests that it says', async () => {
    const [status, said] = await run('inspect', '--raw', `oci:${at('layout')}:${tag}-cpu`);
    expect(status).toBe(0);
    expect(JSON.parse(said)).toMatchObject({ artifactType: 'application/vnd.veritrain.guest.v1' });
    cpSync(at('layout'), at('bad'), { recursive: true });
    expect((await run('copy', '--quiet', `oci:${at('bad')}:${tag}-cpu`, `dir:${at('copied')}`))[0]).toBe(0);
    writeFileSync(blobOf('vmlinuz').replace(at('layout'), at('bad')), 'kernel of a tess');
    expect((await run('copy', '--quiet', `oci:${at('bad')}:${tag}-cpu`, `dir:${at('copied')}`))[0]).not.toBe(0);
  });
});

describe('a release over HTTP', () => {
  /** Serves the layout. @param answer  instead, where it gives true */
  async function serve(
    answer: (path: string, request: IncomingMessage, response: ServerResponse) => boolean = () => false,
  ): Promise<{ readonly url: string; readonly ranges: string[] }> {
    const ranges: string[] = [];
    const server = createServer((request, response) => {
      const path = at('layout', new URL(request.url!, 'http://localhost').pathname.slice(1));
      if (request.headers.range !== undefined) ranges.push(request.headers.range);
      if (answer(path, request, response)) return;
      const size = existsSync(path) ? statSync(path).size : -1;
      if (size < 0) return void response.writeHead(404).end();
      const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
      const headers = { 'content-range': `bytes ${from}-${size - 1}/${size}` };
      response.writeHead(from > 0 ? 206 : 200, from > 0 ? headers : {}).end(readFileSync(path).subarray(from));
    });
    servers.push(server);
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, ranges };
  }

  it('goes on where it broke off, and asks for no byte twice', async () => {
    mkdirSync(at('web'));
    const firmware = blobOf('firmware.fd');
    let broken = 0;
    const breaks = await serve((path, _, response) => {
      if (path !== firmware) return false;
      broken += 1;
      response.writeHead(200, { 'content-length': statSync(path).size }).write(readFileSync(path).subarray(0, 1000));
      setTimeout(() => response.destroy(), 200);
      return true;
    });
    expect(codeOf(await fetchFrom(breaks.url, at('web')))).toBe('GUEST_INPUT_UNREACHABLE');
    expect([broken, statSync(at('web/firmware.fd.partial')).size]).toEqual([1, 1000]);
    const whole = await serve();
    expect((await fetchFrom(whole.url, at('web'))).json).toMatchObject({ ok: true });
    expect(whole.ranges).toEqual(['bytes=1000-']);
    expect(existsSync(at('web/firmware.fd.partial'))).toBe(false);
  });

  it('starts over where the server knows no ranges, or the part is of another file', async () => {
    const plain = await serve((path, request, response) => {
      if (request.headers.range === undefined) return false;
      response.writeHead(200).end(readFileSync(path));
      return true;
    });
    mkdirSync(at('over'));
    writeFileSync(at('over/firmware.fd.partial'), 'x'.repeat(50));
    expect((await fetchFrom(plain.url, at('over'))).json).toMatchObject({ ok: true });
    expect(plain.ranges).toEqual(['bytes=50-']);
    const { url } = await serve();
    mkdirSync(at('foreign'));
    writeFileSync(at('foreign/firmware.fd.partial'), 'x'.repeat(50));
    expect(codeOf(await fetchFrom(url, at('foreign')))).toBe('GUEST_INPUT_DIGEST');
    expect((await fetchFrom(url, at('foreign'))).json).toMatchObject({ ok: true });
  });

  it('GUEST_INPUT_UNREACHABLE: a server that answers with another part, with an error, or not at all', async () => {
    const another = await serve((path, request, response) => {
      if (request.headers.range === undefined) return false;
      response.writeHead(206, { 'content-range': 'bytes 0-9/10' }).end(readFileSync(path).subarray(0, 10));
      return true;
    });
    mkdirSync(at('part'));
    writeFileSync(at('part/firmware.fd.partial'), 'x'.repeat(50));
    expect(codeOf(await fetchFrom(another.url, at('part')))).toBe('GUEST_INPUT_UNREACHABLE');
    const failing = await serve((_path, _request, response) => Boolean(response.writeHead(500).end()));
    expect(codeOf(await fetchFrom(failing.url, at('part')))).toBe('GUEST_INPUT_UNREACHABLE');
    expect(codeOf(await fetchFrom('http://127.0.0.1:1', at('part')))).toBe('GUEST_INPUT_UNREACHABLE');
  });

  it('GUEST_RELEASE: plain HTTP beyond this machine, and an index that is none or has no end', async () => {
    expect(codeOf(await fetchFrom('http://release.example/', at('plain')))).toBe('GUEST_RELEASE');
    const none = await serve((_path, _request, response) => Boolean(response.writeHead(200).end('<html>')));
    expect(codeOf(await fetchFrom(none.url, at('plain')))).toBe('GUEST_RELEASE');
    const endless = await serve((_path, _request, response) => {
      response.writeHead(200);
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
        if (!response.destroyed) response.once('drain', more);
      };
      more();
      return true;
    });
    expect(codeOf(await fetchFrom(endless.url, at('plain')))).toBe('GUEST_RELEASE');
  });
});
