/** What processes write and whom they reach, out of a log of strace. */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

const calls = [
  ...[
    'execve',
    'clone',
    'clone3',
    'fork',
    'vfork',
    'open',
    'openat',
    'creat',
    'mkdir',
    'mkdirat',
    'rename',
    'renameat',
  ],
  ...['renameat2', 'unlink', 'unlinkat', 'link', 'linkat', 'symlink', 'symlinkat', 'truncate', 'connect', 'bind'],
  ...['sendto', 'sendmsg', 'sendmmsg'],
];

/** Words to put before a command so that it and its children are traced into a file. */
export const straced = (log: string): string[] => [
  ...['strace', '-f', '--seccomp-bpf', '-s', '400', '-e', `trace=${calls.join(',')}`, '-o', log],
];

/** Whether strace is installed and may trace here. */
export function mayTrace(): boolean {
  const [file, ...words] = straced('/dev/null');
  return spawnSync(file!, [...words, 'true'], { stdio: 'ignore' }).status === 0;
}

/** What one kind of process did; addresses are `host:port` or paths of sockets. */
export interface Deeds {
  readonly writes: Set<string>;
  readonly reads: Set<string>;
  readonly listens: Set<string>;
  readonly dials: Set<string>;
}

const writing = /\b(O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_TMPFILE)\b/;
const addressed =
  /sa_family=AF_INET6?, sin6?_port=htons\((\d+)\)(?:, sin6_flowinfo=\S+)?, (?:sin_addr=inet_addr\("([^"]+)"|inet_pton\(AF_INET6, "([^"]+)")/;

/**
 * @param kindOf  names the process by its arguments
 * @param folder  that relative paths are in
 */
export function deedsOf(
  log: string,
  kindOf: (words: readonly string[]) => string,
  folder: string,
): ReadonlyMap<string, Deeds> {
  const lines = log.split('\n').flatMap((line) => {
    const [, pid, rest] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    return pid === undefined ? [] : [{ pid, rest: rest! }];
  });
  const parents = new Map<string, string>();
  for (const { pid, rest } of lines) {
    const [, child] = /^(?:<\.\.\. )?(?:clone3?|v?fork)\b.* = (\d+)$/.exec(rest) ?? [];
    if (child !== undefined) parents.set(child, pid);
  }
  const kinds = new Map<string, string>();
  const kind = (pid: string): string => kinds.get(pid) ?? (parents.has(pid) ? kind(parents.get(pid)!) : 'unknown');
  const all = new Map<string, Deeds>();
  for (const { pid, rest } of lines) {
    const [, call, words] = /^(\w+)\((.*)$/.exec(rest) ?? [];
    if (call === undefined) continue;
    const texts = [...words!.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text!);
    if (call === 'execve') {
      if (!/ = -1 /.test(rest)) kinds.set(pid, kindOf(texts));
      continue;
    }
    const name = kind(pid);
    const deeds = all.get(name) ?? { writes: new Set(), reads: new Set(), listens: new Set(), dials: new Set() };
    all.set(name, deeds);
    note(deeds, call, words!, texts, folder);
  }
  return all;
}

function note(deeds: Deeds, call: string, words: string, texts: readonly string[], folder: string): void {
  if (/^(clone3?|v?fork)$/.test(call)) return;
  if (/^(connect|bind|send\w+)$/.test(call)) {
    const [, port, v4, v6] = addressed.exec(words) ?? [];
    const [, path] = /sun_path=@?"([^"]+)"/.exec(words) ?? [];
    const address = port === undefined ? path : `${v4 ?? v6}:${port}`;
    if (address !== undefined) (call === 'bind' ? deeds.listens : deeds.dials).add(address);
    return;
  }
  const isOpen = call === 'open' || call === 'openat';
  const into = isOpen && !writing.test(words.replace(/"(?:[^"\\]|\\.)*"/g, '')) ? deeds.reads : deeds.writes;
  for (const text of texts) into.add(resolve(folder, text));
}
