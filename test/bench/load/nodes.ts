/** Simulated nodes: each holds a connection of its own and asks for jobs in long polls. */
import { setTimeout as sleep } from 'node:timers/promises';
import { pattern, type LeaseAcquired, type NatsAddress, protocolVersion } from '#libs/wire';
import { loadKeys, loadProvider } from './keys.js';
import { dialNats, dialTcp, type Line } from './lines.js';

const capabilities = { tee: 'simulated-snp', cores: 4, memoryMiB: 1024, version: '1' };

export class SimulatedNodes {
  /** Performance time at which each job was granted. */
  readonly #granted = new Map<string, number>();
  #isClosed = false;
  readonly #lines: Line[] = [];

  /** @param to  ports that they dial in turn, or a NATS server */
  private constructor(private readonly to: readonly number[] | NatsAddress) {}

  /** Connected and registered, all of them. */
  static async connect(to: readonly number[] | NatsAddress, count: number): Promise<SimulatedNodes> {
    const fleet = new SimulatedNodes(to);
    for (let from = 0; from < count; from += 50) {
      const batch = Array.from({ length: Math.min(50, count - from) }, (_, index) => fleet.start(from + index));
      await Promise.all(batch);
    }
    return fleet;
  }

  /** Until so many jobs were granted. */
  async granted(count: number): Promise<void> {
    while (this.#granted.size < count) await sleep(5);
  }

  /** When a job was granted. @throws Error when it was not */
  grantedAt(jobId: string): number {
    const at = this.#granted.get(jobId);
    if (at === undefined) throw new Error(`job ${jobId} was not granted`);
    return at;
  }

  close(): void {
    this.#isClosed = true;
    for (const line of this.#lines) line.close();
  }

  private async start(number: number): Promise<void> {
    const { to } = this;
    const line = 'urls' in to ? await dialNats(to) : await dialTcp(to[number % to.length]!);
    this.#lines.push(line);
    const node = { name: `simulated-${number}`, provider: loadProvider, capabilities, protocol: protocolVersion };
    const register = { auth: loadKeys.operator, ...node };
    const { nodeId } = (await line.ask(pattern.nodeRegister, register)) as { nodeId: string };
    void this.poll(line, nodeId);
  }

  private async poll(line: Line, nodeId: string): Promise<void> {
    while (!this.#isClosed) {
      const question = { auth: loadKeys.operator, nodeId, waitMs: 10_000 };
      const answer = (await line.ask(pattern.leaseAcquire, question)) as LeaseAcquired;
      if (answer === null) continue;
      if (this.#granted.has(answer.job.jobId)) throw new Error(`job ${answer.job.jobId} was granted twice`);
      this.#granted.set(answer.job.jobId, performance.now());
    }
  }
}
