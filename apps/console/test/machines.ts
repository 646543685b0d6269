/** Bundles of whole machines with a GPU and with TDX, under made-up vendors: whole, altered, revoked; and what pins them. */
import { encodeBundle, parseSessionEvidence, encodeSessionEvidence, type EvidenceBundle } from '#attestation/records';
import { fakeIntel } from '#test/fake-intel';
import { machineBundle, type MachineParts } from '#test/machine-bundle';
import { gpuMachineAt } from '#test/made-machine';
import type { Alteration } from './altered.vite.config.js';
import type { Sample } from './corpus.js';
import { flipped } from './parts.js';

/** For a build of the page that takes made-up vendors beside the real ones. */
export async function pinsOf({ vendor, intel }: Omit<MachineParts, 'trained'>): Promise<readonly Alteration[]> {
  const constants = '/attestation/src/nvidia/constants.ts';
  const { device, rim } = vendor.nvidia.pins;
  const [pin] = (await fakeIntel({ root: intel })).pins;
  const known = 'new Set([intelRootSpkiSha256';
  return [
    { file: constants, from: "device: ['", to: `device: ['${device.join("', '")}', '` },
    { file: constants, from: "rim: ['", to: `rim: ['${rim.join("', '")}', '` },
    { file: '/attestation/src/appraisal/submodules.ts', from: known, to: `${known}, '${pin}'` },
  ];
}

type Evidence = ReturnType<typeof parseSessionEvidence>;

function withEvidence(bundle: EvidenceBundle, change: (evidence: Evidence) => Partial<Evidence>): Uint8Array {
  const sessions = bundle.sessions.map((session) => {
    const evidence = parseSessionEvidence(session.evidence);
    return { ...session, evidence: encodeSessionEvidence({ ...evidence, ...change(evidence) }) };
  });
  return encodeBundle({ ...bundle, sessions });
}

function endorsedBy(bundle: EvidenceBundle, change: Partial<EvidenceBundle['endorsements']>): Uint8Array {
  return encodeBundle({ ...bundle, endorsements: { ...bundle.endorsements, ...change } });
}

const broken = 'do-not-rely';

export async function machineSamples(parts: MachineParts): Promise<readonly Sample[]> {
  return [...(await gpuSamples(parts)), ...(await tdSamples(parts))];
}

async function gpuSamples(parts: MachineParts): Promise<Sample[]> {
  const { bundle } = await machineBundle('H100', parts);
  const { rims, ocsp } = bundle.endorsements;
  const { device, ocsp: answer } = parts.vendor.nvidia;
  const revoking = await answer(device[1]!.certificate, device[2]!, gpuMachineAt, 1);
  const changed = (change: (gpu: Evidence['gpus'][0]) => Partial<Evidence['gpus'][0]>): Uint8Array =>
    withEvidence(bundle, ({ gpus }) => ({ gpus: gpus.map((gpu) => ({ ...gpu, ...change(gpu) })) }));
  const at = gpuMachineAt;
  return [
    { name: 'gpu', bytes: encodeBundle(bundle), heading: 'simulated', states: { session: 'holds', seal: 'holds' }, at },
    {
      ...{ name: 'gpu-report-altered', bytes: changed(({ report }) => ({ report: flipped(report, -1) })), at },
      ...{ heading: broken, broken: ['chip', 'session'] },
    },
    {
      ...{ name: 'gpu-left-out', bytes: withEvidence(bundle, () => ({ gpus: [] })), at },
      ...{ heading: broken, broken: ['session'] },
    },
    {
      ...{ name: 'gpu-certificate-altered', at, heading: broken, broken: ['root', 'session'] },
      bytes: changed(({ certificates: [leaf, ...rest] }) => ({ certificates: [flipped(leaf!, -1), ...rest] })),
    },
    {
      ...{ name: 'gpu-manifest-altered', at, heading: broken, broken: ['firmware', 'session'] },
      bytes: endorsedBy(bundle, { rims: [flipped(rims[0]!, rims[0]!.length >> 1), ...rims.slice(1)] }),
    },
    {
      ...{ name: 'gpu-answer-left-out', bytes: endorsedBy(bundle, { ocsp: ocsp.slice(1) }), at },
      ...{ heading: 'not-decided' },
    },
    {
      ...{ name: 'gpu-revoked', bytes: encodeBundle(bundle), heading: 'simulated', at, later: broken },
      beside: [{ name: 'answer.der', bytes: revoking, kind: 'material' }],
    },
  ];
}

/** Where mrTd begins in a quote of version 4: a header of 48 bytes, then the body. */
const mrTdAt = 48 + 136;

async function tdSamples(parts: MachineParts): Promise<Sample[]> {
  const { bundle } = await machineBundle('TDX', parts);
  const [collateral] = bundle.endorsements.intel;
  const quote = (change: (report: Uint8Array) => Uint8Array): Uint8Array =>
    withEvidence(bundle, ({ cpu }) => ({ cpu: { ...cpu, report: change(cpu.report) } }));
  const at = bundle.sessions[0]!.appraisedAt + 60;
  const ofQuote: Pick<Sample, 'heading' | 'broken' | 'at'> = { heading: broken, broken: ['chip', 'session'], at };
  const lowered = Buffer.from(collateral!).toString().replace('UpToDate', 'OutOfDate');
  return [
    { name: 'td', bytes: encodeBundle(bundle), heading: 'verified-with-remarks', states: { chip: 'holds' }, at },
    { name: 'td-remeasured', bytes: quote((report) => flipped(report, mrTdAt)), ...ofQuote },
    { name: 'td-quote-cut', bytes: quote((report) => report.subarray(0, -1)), ...ofQuote },
    {
      ...{ name: 'td-collateral-altered', bytes: endorsedBy(bundle, { intel: [Buffer.from(lowered)] }), at },
      ...{ heading: broken, broken: ['firmware', 'session'] },
    },
    {
      ...{ name: 'td-collateral-left-out', bytes: endorsedBy(bundle, { intel: [] }), at },
      heading: 'not-decided',
    },
    {
      ...{ name: 'td-expired', bytes: encodeBundle(bundle), heading: 'verified-with-remarks', at: 4_000_000_000 },
      later: broken,
    },
  ];
}
