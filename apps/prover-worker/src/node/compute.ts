/** The node's hold on its computing process: one for each job, ended when the job changes or nobody wants it any more. */
import type { ChildProcess } from 'node:child_process';
import { CollateralError, reportedError } from '#attestation/base';
import { nodeCommand, startProcess, type StartedProcess } from '#libs/process';
import type { ProverPhase } from '#libs/zk';
import type { JobInput, Limits } from '../compute/job.js';
import type { ComputeEvent, ComputeRequest } from '../compute/messages.js';
import type { ProofRequest } from '../compute/prove.js';
import type { Proved } from '../compute/system.js';
import type { Border, Trained } from '../compute/train.js';

export interface Compute {
  readonly jobId: string;
  readonly segments: number;
  train(checkpoint: Uint8Array | null, onBorder: (border: Border) => void): Promise<Trained>;
  prove(request: ProofRequest, onPhase: (phase: ProverPhase) => void): Promise<Proved>;
  isAlive(): boolean;
  /** Ends the process at once; what it was asked for fails with PROVER_ENDED. */
  kill(): void;
}

type EventOf<K extends ComputeEvent['type']> = Extract<ComputeEvent, { type: K }>;

/** @throws Rejection and ConfigurationError as the process reports them; CollateralError PROVER_ENDED */
export async function openCompute(jobId: string, job: JobInput, limits: Limits): Promise<Compute> {
  const { child, isRunning } = startChild();
  try {
    const { segments } = await ask(child, { type: 'open', job, limits }, 'opened');
    return {
      jobId,
      segments,
      async train(checkpoint, onBorder) {
        const request = { type: 'train', checkpoint } as const;
        const { trained } = await ask(child, request, 'trained', (event) => {
          if (event.type === 'border') onBorder(event.border);
        });
        return trained;
      },
      async prove(request, onPhase) {
        const { proved } = await ask(child, { type: 'prove', request }, 'proved', (event) => {
          if (event.type === 'phase') onPhase(event.phase);
        });
        return proved;
      },
      isAlive: isRunning,
      kill: () => void child.kill('SIGKILL'),
    };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

function startChild(): StartedProcess {
  const stdio = ['ignore', 'ignore', 'inherit', 'ipc'] as const;
  const command = nodeCommand('../compute-main', import.meta.url);
  return startProcess(command, { stdio: [...stdio], serialization: 'advanced', endsWithUs: true });
}

function ask<K extends ComputeEvent['type']>(
  child: ChildProcess,
  request: ComputeRequest,
  wanted: K,
  onOther: (event: ComputeEvent) => void = () => undefined,
): Promise<EventOf<K>> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      child.off('message', hear).off('exit', gone).off('error', broken);
      act();
    };
    const hear = (event: ComputeEvent): void => {
      if (event.type === wanted) settle(() => resolve(event as EventOf<K>));
      else if (event.type === 'failed')
        settle(() => reject(reportedError({ code: 'PROVER_FAILED', ...event.failure })));
      else onOther(event);
    };
    const gone = (code: number | null, signal: string | null): void =>
      settle(() => reject(ended(signal ?? `exit status ${code}`)));
    // A process that could not be started has no exit.
    const broken = ({ message }: Error): void => settle(() => reject(ended(message)));
    child.on('message', hear).once('exit', gone).once('error', broken);
    if (child.exitCode !== null || child.signalCode !== null) gone(child.exitCode, child.signalCode);
    else child.send(request);
  });
}

export function ended(got: string): CollateralError {
  return new CollateralError('PROVER_ENDED', {
    expected: 'the computing process to answer',
    got,
    rule: 'prover worker, processes',
    action: 'the work is taken up again from the last proved segment; give the node more memory if it ends again',
  });
}
