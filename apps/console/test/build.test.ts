/** The file itself: one script and one style that its policy names, the same bytes from every build, and small. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { buildReviewer } from './browser.js';
import { plants } from './plants.js';
import { sinks } from './sinks.js';

const sha256 = (text: string, form: 'base64' | 'hex'): string => createHash('sha256').update(text).digest(form);
const built = buildReviewer();

it('is the same in two builds, whatever zone, language, folder and umask', () => {
  const cwd = join(mkdtempSync(join(tmpdir(), 'veritrain-elsewhere-')), 'another', 'checkout');
  for (const part of ['apps', 'libs', 'attestation', 'package.json', 'tsconfig.json']) {
    cpSync(part, join(cwd, part), { recursive: true });
  }
  symlinkSync(join(process.cwd(), 'node_modules'), join(cwd, 'node_modules'));
  const env = { TZ: 'Pacific/Auckland', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' };
  const again = buildReviewer(env, undefined, { cwd, umask: '077' });
  expect(again.file).not.toBe(built.file);
  expect([again.sha256, sha256(again.html, 'hex')]).toEqual([built.sha256, built.sha256]);
  rmSync(cwd, { recursive: true });
});

it('names its one script and its one style, and allows nothing else', () => {
  const { html } = built;
  const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(html)![1]!;
  const script = /<script type="module">([\s\S]*?)<\/script>/.exec(html)![1]!;
  const style = /<style>([\s\S]*?)<\/style>/.exec(html)![1]!;
  expect([...html.matchAll(/<script\b/g)].length).toBe(1);
  expect(html).not.toMatch(/<(link|img|iframe)\b/);
  expect(html.includes(process.cwd())).toBe(false);
  expect(policy.split('; ')).toEqual([
    "default-src 'none'",
    `script-src 'sha256-${sha256(script, 'base64')}' 'wasm-unsafe-eval'`,
    `style-src 'sha256-${sha256(style, 'base64')}'`,
    ...['img-src data:', "base-uri 'none'", "form-action 'none'"],
    ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
  ]);
  expect(html).not.toMatch(/new Function\(|[^.\w]eval\(/);
});

it('stays below 264 kB gzipped', () => {
  expect(gzipSync(built.html, { level: 9 }).length).toBeLessThan(264_000);
});

it('leaves the first page of the console below 60 kB gzipped', () => {
  const folder = mkdtempSync(join(tmpdir(), 'veritrain-first-load-'));
  const args = ['build', '--config', 'apps/console/vite.console.config.ts', '--outDir', folder];
  const env = { ...process.env, NODE_ENV: 'production' };
  expect(spawnSync(process.execPath, ['node_modules/vite/bin/vite.js', ...args], { env }).status).toBe(0);
  const of = (name: string): string => readFileSync(join(folder, name), 'utf8');
  const shell = of('console.html');
  const named = [...shell.matchAll(/(?:src|href)="\/console\/(assets\/[^"]+)"/g)].map(([, name]) => name!);
  expect(named.length).toBeGreaterThan(1);
  const loaded = new Set(named);
  for (const name of loaded) {
    for (const [, other] of of(name).matchAll(/(?:from|import)\s*["'`]\.\/([^"'`]+)["'`]/g))
      loaded.add(`assets/${other}`);
  }
  const bytes = ['console.html', ...loaded].reduce((sum, name) => sum + gzipSync(of(name), { level: 9 }).length, 0);
  rmSync(folder, { recursive: true });
  expect(bytes).toBeLessThan(60_000);
});

it('has no word in its sources that makes markup of text, keeps anything or asks the network', () => {
  const forbidden =
    /dangerouslySetInnerHTML|\.(innerHTML|srcdoc)\b|insertAdjacentHTML|document\.write|\bstyle=|localStorage|sessionStorage|indexedDB|\bfetch\(|XMLHttpRequest|WebSocket|EventSource|new Worker|import\(|unsafe-inline/;
  const folder = 'apps/console/src';
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name));
  const files = all.filter((name) => !name.startsWith('console'));
  expect(files.length).toBeGreaterThan(15);
  expect(files.filter((name) => forbidden.test(readFileSync(join(folder, name), 'utf8')))).toEqual([]);
  expect(forbidden.test('element.innerHTML = text')).toBe(true);
  // The console asks its control plane, in three places, and loads what is large when it is wanted.
  const asking = all.filter((name) => /\bfetch\(|new EventSource/.test(readFileSync(join(folder, name), 'utf8')));
  expect(asking.toSorted()).toEqual(['console/api.ts', 'console/feed.ts', 'console/live.ts']);
  const markup =
    /dangerouslySetInnerHTML|\.(innerHTML|srcdoc)\b|insertAdjacentHTML|document\.write|\bstyle=|(local|session)Storage/;
  // A draft of a job, without a secret, is kept for its tab: nothing else is.
  expect(all.filter((name) => markup.test(readFileSync(join(folder, name), 'utf8')))).toEqual(['console/draft.ts']);
  const imports = all.filter((name) =>
    /import (?!type)[^;]*'#libs\/wire/.test(readFileSync(join(folder, name), 'utf8')),
  );
  expect(imports).toEqual([]);
});

it('has in its sources what planted faults take the place of', () => {
  const sources = ['apps/console/src', 'libs/review/src', 'attestation/src'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  );
  const isThere = ({ file, from }: { readonly file: string; readonly from: string }): boolean =>
    sources.some((name) => name.endsWith(file) && readFileSync(name, 'utf8').includes(from));
  expect([...plants, ...sinks].filter((one) => !isThere(one)).map(({ name }) => name)).toEqual([]);
});
