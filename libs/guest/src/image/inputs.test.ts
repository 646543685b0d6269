/** Inputs: where they are looked for, and what is said of one that is gone, another, or out of reach; and package archives. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inputFile, obtainInputs, type GuestInput } from './inputs.js';
import { debianFiles } from './packages.js';
import { readTar } from './tar.js';

const folder = mkdtempSync(join(tmpdir(), 'veritrain-inputs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const [cache, inputs, mirror] = ['cache', 'inputs', 'mirror'].map((name) => join(folder, name)) as [
  string,
  string,
  string,
];
beforeEach(() => {
  for (const each of [cache, inputs, mirror]) rmSync(each, { recursive: true, force: true });
  for (const each of [cache, inputs, join(mirror, 'pool')]) mkdirSync(each, { recursive: true });
});

const bytes = Buffer.from('a small package');
const input: GuestInput = {
  ...({ kind: 'debian', name: 'tiny', version: '1-1', suite: 'trixie', architecture: 'amd64' } as const),
  ...{ file: 'pool/tiny_1-1_amd64.deb', bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') },
};
const name = inputFile(input);

describe('an input', () => {
  it('is taken from the cache, then from the folder', async () => {
    writeFileSync(join(inputs, name), bytes);
    expect([...(await obtainInputs([input], { cache, folder: inputs })).values()]).toEqual([join(inputs, name)]);
    writeFileSync(join(cache, name), bytes);
    expect([...(await obtainInputs([input], { cache, folder: inputs })).values()]).toEqual([join(cache, name)]);
  });

  it('GUEST_INPUT_DIGEST: a file with other bytes is named with what to do', async () => {
    writeFileSync(join(inputs, name), 'another package');
    await expect(obtainInputs([input], { cache, folder: inputs })).rejects.toMatchObject({
      code: 'GUEST_INPUT_DIGEST',
      detail: { action: expect.stringContaining(join(inputs, name)) as string },
    });
  });

  it('is named as its client names it', () => {
    const integrity = `sha512-${'A'.repeat(86)}==`;
    expect(inputFile({ kind: 'npm', name: '@hpke/core', version: '1.9.0', integrity })).toBe('hpke-core-1.9.0.tgz');
    expect(name).toBe('tiny_1-1_amd64.deb');
  });

  describe.skipIf(!existsSync('/usr/lib/apt/apt-helper'))('of a mirror', () => {
    const mirrors = [`file://${mirror}`];

    it('is fetched once and kept', async () => {
      writeFileSync(join(mirror, 'pool', 'tiny_1-1_amd64.deb'), bytes);
      const told: number[] = [];
      const sources = { cache, mirrors, onProgress: ({ done }: { done: number }) => void told.push(done) };
      expect([...(await obtainInputs([input], sources)).values()]).toEqual([join(cache, name)]);
      expect(readFileSync(join(cache, name))).toEqual(bytes);
      expect(told).toEqual([0, 1]);
    });

    it('is fetched by several at once into one cache', async () => {
      writeFileSync(join(mirror, 'pool', 'tiny_1-1_amd64.deb'), bytes);
      const all = await Promise.all(Array.from({ length: 4 }, () => obtainInputs([input], { cache, mirrors })));
      expect(all.map((paths) => paths.get(input))).toEqual(all.map(() => join(cache, name)));
      expect(readdirSync(cache)).toEqual([name]);
    });

    it('GUEST_INPUT_GONE: a version that the mirror has forgotten, with name and digest', async () => {
      await expect(obtainInputs([input], { cache, mirrors })).rejects.toMatchObject({
        code: 'GUEST_INPUT_GONE',
        detail: { expected: expect.stringContaining('tiny 1-1, sha256:') as string },
      });
    });

    it('GUEST_INPUT_DIGEST: other bytes of the mirror are not kept', async () => {
      writeFileSync(join(mirror, 'pool', 'tiny_1-1_amd64.deb'), 'another package');
      await expect(obtainInputs([input], { cache, mirrors })).rejects.toMatchObject({ code: 'GUEST_INPUT_DIGEST' });
      expect(readdirSync(cache)).toEqual([]);
    });

    it('GUEST_INPUT_UNREACHABLE: nobody answers', async () => {
      const away = { cache, mirrors: ['http://127.0.0.1:9/'] };
      await expect(obtainInputs([input], away)).rejects.toMatchObject({ code: 'GUEST_INPUT_UNREACHABLE' });
    });
  });
});

describe.skipIf(!existsSync('/usr/lib/apt/apt-helper'))('a hostile mirror', () => {
  type Answer = (url: string, response: ServerResponse) => void;
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });
  const mirrorThat = async (answer: Answer): Promise<string> => {
    const server = createServer((request, response) => answer(request.url ?? '', response));
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  };
  const fetched = async (...answers: readonly Answer[]) => {
    const mirrors = await Promise.all(answers.map(mirrorThat));
    return obtainInputs([input], { cache, mirrors, patienceMs: 1500 });
  };
  const honest: Answer = (_, response) => void response.end(bytes);
  /** Without an end. */
  const pour = (response: ServerResponse, part: Buffer, everyMs: number): void => {
    const timer = setInterval(() => response.write(part), everyMs);
    response.on('close', () => clearInterval(timer));
  };

  it.each<[string, string, Answer]>([
    ['other bytes', 'GUEST_INPUT_DIGEST', (_, response) => void response.end('b small package')],
    ['bytes behind the right ones', 'GUEST_INPUT_DIGEST', (_, response) => void response.end(`${bytes.toString()}!`)],
    ['fewer bytes', 'GUEST_INPUT_DIGEST', (_, response) => void response.end(bytes.subarray(1))],
    ['a stream without an end', 'GUEST_INPUT_DIGEST', (_, response) => pour(response, Buffer.alloc(65_536), 1)],
    [
      'a byte now and then',
      'GUEST_INPUT_UNREACHABLE',
      (_, response) => pour(response.writeHead(200, { 'content-length': '15' }), Buffer.from('a'), 700),
    ],
    ['nothing', 'GUEST_INPUT_UNREACHABLE', () => undefined],
    [
      'a redirect to itself',
      'GUEST_INPUT_UNREACHABLE',
      (url, response) => void response.writeHead(302, { location: url }).end(),
    ],
    [
      'a redirect to a file of this machine',
      'GUEST_INPUT_UNREACHABLE',
      (_, response) => void response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
    ],
    ['an error', 'GUEST_INPUT_UNREACHABLE', (_, response) => void response.writeHead(500).end(bytes)],
    ['that it has it no more', 'GUEST_INPUT_GONE', (_, response) => void response.writeHead(404).end(bytes)],
  ])('that sends %s is refused with %s, and nothing of it is kept', async (_, code, answer) => {
    await expect(fetched(answer)).rejects.toMatchObject({ code });
    expect(readdirSync(cache)).toEqual([]);
  });

  it('that redirects to the right bytes is as good as another', async () => {
    const other = await mirrorThat(honest);
    const redirects: Answer = (url, response) =>
      void response.writeHead(302, { location: `${other}${url.slice(1)}` }).end();
    expect([...(await fetched(redirects)).values()]).toEqual([join(cache, name)]);
    expect(readFileSync(join(cache, name))).toEqual(bytes);
  });

  it('that pours without an end does not keep the next one from being asked', async () => {
    const pours: Answer = (_, response) => pour(response, Buffer.alloc(65_536), 1);
    expect([...(await fetched(pours, honest)).values()]).toEqual([join(cache, name)]);
  });

  it('GUEST_INPUT_DIGEST: what it left in the cache before is not taken for whole', async () => {
    writeFileSync(join(cache, `${name}.partial`), 'half of another');
    expect([...(await fetched(honest)).values()]).toEqual([join(cache, name)]);
    writeFileSync(join(cache, name), 'b small package');
    await expect(fetched(honest)).rejects.toMatchObject({ code: 'GUEST_INPUT_DIGEST' });
  });
});

const hasTools = ['tar', 'xz'].every((tool) => spawnSync(tool, ['--version']).error === undefined);

describe.skipIf(!hasTools)('an archive', () => {
  const long = `usr/lib/${'long/'.repeat(40)}file`;
  const tarOf = (format: string): Buffer => {
    const tree = join(folder, 'tree');
    mkdirSync(join(tree, long, '..'), { recursive: true });
    writeFileSync(join(tree, long), 'deep');
    writeFileSync(join(tree, 'usr/lib/libx.so.1.2'), 'library');
    spawnSync('ln', ['-sf', 'libx.so.1.2', join(tree, 'usr/lib/libx.so.1')]);
    return spawnSync('tar', ['--create', `--format=${format}`, '-C', tree, '.']).stdout;
  };
  const member = (title: string, body: Uint8Array): Uint8Array =>
    Buffer.concat([
      Buffer.from(
        `${title.padEnd(16)}${'0'.padEnd(12)}${'0'.padEnd(6)}${'0'.padEnd(6)}${'100644'.padEnd(8)}${String(body.length).padEnd(10)}\`\n`,
      ),
      body,
      Buffer.alloc(body.length % 2, '\n'),
    ]);
  const deb = (format: string): Buffer =>
    Buffer.concat([
      Buffer.from('!<arch>\n'),
      member('debian-binary', Buffer.from('2.0\n')),
      member('data.tar.xz', spawnSync('xz', ['-c'], { input: tarOf(format) }).stdout),
    ]);

  it.each(['gnu', 'pax'])('of Debian gives the files that are wanted: %s', (format) => {
    const files = debianFiles(deb(format), (path) => path.startsWith('usr/'));
    expect(Buffer.from(files.get(long)!.bytes).toString()).toBe('deep');
    expect(files.get('usr/lib/libx.so.1')).toMatchObject({ link: 'libx.so.1.2' });
  });

  it('GUEST_ARCHIVE: cut or changed anywhere it ends in a code or in its files', () => {
    const whole = deb('gnu');
    const plain = tarOf('ustar');
    const ends = new Set<string>();
    for (let seed = 1; seed <= 400; seed++) {
      const source = seed % 4 === 0 ? whole : plain;
      const bad = Buffer.from(source.subarray(0, seed % 3 === 0 ? (seed * 7919) % source.length : source.length));
      if (bad.length > 0) bad[(seed * 104_729) % Math.min(bad.length, 2048)]! ^= 1 << (seed % 8);
      try {
        if (seed % 4 === 0) debianFiles(bad, () => true);
        else readTar(bad, () => true);
        ends.add('read');
      } catch (error) {
        ends.add((error as { code: string }).code);
      }
    }
    expect([...ends].filter((end) => end !== 'read')).toEqual(['GUEST_ARCHIVE']);
  });
});
