/**
 * The enclave with `--gpus nvml` over a simulated NVML that answers with a report recorded on an H100: it starts in
 * confidential mode alone, and its evidence is judged. A recording answers no new nonce, and that shows.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { appraise, evidenceOfSession, neutralPolicy, noEndorsements } from '#attestation';
import { parseSessionEvidence } from '#attestation/records';
import { connectEnclave } from '#libs/enclave-channel';
import { nodeCommand, startProcess, tailOf } from '#libs/process';
import { fakeAmd } from '#test/fake-amd';
import { fixturePath } from '#test/fixture';
import { buildSimulatedNvml, compiler, nvmlKnobs, type NvmlKnob } from '#test/simulated-nvml';

const sample = `${process.env['VERITRAIN_VECTORS'] ?? '../shared/vectors'}/nvidia-gpu/h100-550.90.07-full`;
const isReady = compiler !== undefined && existsSync(sample);
if (!isReady) console.warn('SKIPPED: no C compiler, or no recorded evidence of a GPU');
const folder = mkdtempSync(join(tmpdir(), 'veritrain-gpu-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const recorded = (name: string): Uint8Array => new Uint8Array(readFileSync(join(sample, name)));

const nonce = new Uint8Array(32).fill(9);
const account = { provider: new Uint8Array(20), chainId: 1, registry: new Uint8Array(20) };
/** When every signer of the recording is inside its dates. */
const at = Date.parse('2026-03-01T00:00:00Z') / 1000;

interface Started {
  readonly address: string;
  readonly exited: Promise<number | null>;
  stop(): Promise<void>;
  said(): string;
}

let count = 0;
function start(environment: Record<string, string>): Started {
  const address = `unix:${join(folder, `${count++}.sock`)}`;
  const args = ['--listen', address, '--attester', 'simulated', '--vendor', fixturePath('test-vendor-milan.json')];
  const command = nodeCommand('../../enclave/src/main', import.meta.url, [...args, '--gpus', 'nvml']);
  const { PATH = '' } = process.env;
  const started = startProcess(command, { stdio: ['ignore', 'ignore', 'pipe'], env: { PATH, ...environment } });
  const said = tailOf(started.child.stderr!, 8000);
  return { address, exited: started.exited, stop: () => started.kill(), said };
}

async function connected(started: Started) {
  for (;;) {
    try {
      return await connectEnclave(started.address);
    } catch {
      await sleep(100);
    }
  }
}

const library = { LD_LIBRARY_PATH: folder };
const turned = (knob: NvmlKnob, value: number) => ({
  ...library,
  SIMULATED_NVML: `${nvmlKnobs.indexOf(knob)}=${value}`,
});

describe.skipIf(!isReady)('an enclave with GPUs', () => {
  beforeAll(
    () => void buildSimulatedNvml(folder, recorded('report.bin'), Buffer.from(recorded('cert-chain.pem')).toString()),
  );

  it('shows evidence of CPU and GPUs that one appraisal judges: what a recording shows before its signature holds', async () => {
    const started = start(library);
    const enclave = await connected(started);
    await enclave.request('open', account);
    const evidence = parseSessionEvidence(await enclave.request('attest', { nonce }));
    enclave.close();
    expect(await started.exited).toBe(0);
    const milan = fakeAmd('milan');
    const { submodules } = await appraise({
      evidence: evidenceOfSession(evidence),
      endorsements: {
        ...noEndorsements,
        certificates: evidence.cpu.certificates,
        rims: [recorded('driver-rim.xml'), recorded('vbios-rim.xml')],
      },
      policy: { ...neutralPolicy, simulatedRoots: milan.roots },
      ...{ nonce, at },
    });
    const failed = submodules.flatMap(({ name, checks }) =>
      checks
        .filter(({ status }) => !['met', 'warned', 'not-checked'].includes(status))
        .map(({ code }) => `${name} ${code}`),
    );
    // The nonce that the library puts in is under the signature, and nothing behind a forged signature is looked at.
    expect(new Set(failed)).toEqual(new Set(expectedFailures));
    const met = submodules.find(({ name }) => name === 'gpu-0')!.checks.filter(({ status }) => status === 'met');
    expect(met.map(({ code }) => code)).toEqual(expect.arrayContaining([...expectedMet]));
  }, 120_000);

  it('NVML_NONCE: a recording as it is answers another nonce, and no evidence comes of it', async () => {
    const started = start(turned('stale', 1));
    const enclave = await connected(started);
    await enclave.request('open', account);
    await expect(enclave.request('attest', { nonce })).rejects.toMatchObject({ code: 'NVML_NONCE' });
    enclave.close();
    expect(await started.exited).toBe(0);
  }, 120_000);

  it.each([
    ['no library', 'NVML_ABSENT', {}],
    ['no GPU', 'NVML_NO_GPU', turned('count', 0)],
    ['a GPU of another architecture', 'NVML_ARCHITECTURE', turned('architecture', 8)],
    ['confidential mode off', 'NVML_NOT_CONFIDENTIAL', turned('cc', 0)],
    ['tools of developers on', 'NVML_NOT_CONFIDENTIAL', turned('devTools', 1)],
    ['simulated hardware', 'NVML_NOT_CONFIDENTIAL', turned('environment', 1)],
    ['a library that fails', 'NVML_FAILED', turned('fail', 1009)],
  ])(
    'with %s does not start: %s, and nothing listens',
    async (_, code, environment) => {
      const started = start(environment);
      expect(await started.exited).toBe(1);
      expect(started.said()).toContain(`"code":"${code}"`);
      await expect(connectEnclave(started.address)).rejects.toMatchObject({ code: 'ENCLAVE_AWAY' });
    },
    60_000,
  );
});

const expectedFailures = ['gpu-0 NVIDIA_REPORT_SIGNATURE', 'gpu-1 NVIDIA_REPORT_SIGNATURE'];
const expectedMet = ['NVIDIA_FWID_MISMATCH'];
