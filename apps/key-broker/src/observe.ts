/** What the owner sees of the broker's work: a line for every decision, and metrics. */
import { CodedError } from '#attestation/base';
import type { BrokerMetrics, Logger } from '#libs/telemetry';

type DecisionKind = 'release' | 'renewal' | 'appraisal' | 'prover-release' | 'availability';

export interface Observer {
  /** Runs one decision, tells how it ended, and hands on what it gave or threw. */
  decided<T>(kind: DecisionKind, work: () => Promise<T>, told: (given: T) => Record<string, unknown>): Promise<T>;
}

export function createObserver(logger: Logger, metrics: BrokerMetrics): Observer {
  return {
    async decided(kind, work, told) {
      const started = performance.now();
      const ended = (outcome: string): number => {
        const seconds = (performance.now() - started) / 1000;
        metrics.decisions.observe({ kind, outcome }, seconds);
        return Math.round(seconds * 1e4) / 10;
      };
      try {
        const given = await work();
        logger.info(kind, { ...told(given), milliseconds: ended('ok') });
        return given;
      } catch (error) {
        const code = error instanceof CodedError ? error.code : 'INTERNAL';
        const why = error instanceof CodedError ? { expected: error.detail.expected, got: error.detail.got } : {};
        logger.info(`${kind} refused`, { code, ...why, milliseconds: ended(code) });
        throw error;
      }
    },
  };
}
