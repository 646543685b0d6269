/** Named phases of a long run: times for the summary, one live line for whoever watches. */
export interface Phases {
  run<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** Shows the state of the running phase; on a terminal it overwrites the last one. */
  show(line: string): void;
  /** A line that stays. */
  say(line: string): void;
  /** Seconds by phase, in order. */
  readonly seconds: Readonly<Record<string, number>>;
}

export function createPhases(out: NodeJS.WriteStream = process.stderr): Phases {
  const seconds: Record<string, number> = {};
  let live = false;
  const endLive = (): void => {
    if (live) out.write('\n');
    live = false;
  };
  return {
    seconds,
    async run(name, work) {
      endLive();
      out.write(`▸ ${name}\n`);
      const began = performance.now();
      try {
        return await work();
      } finally {
        seconds[name] = Math.round(performance.now() - began) / 1000;
        endLive();
      }
    },
    say(line) {
      endLive();
      out.write(`${line}\n`);
    },
    show(line) {
      if (!out.isTTY) return void out.write(`  ${line}\n`);
      out.write(`\r\x1b[2K  ${line}`);
      live = true;
    },
  };
}
