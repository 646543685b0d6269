/**
 * Evaluation of a platform's security version numbers against Intel's signed levels. Pure data in, pure data out.
 * Source: attestation/EVIDENCE.md §5.2 rules 5 and 6; Intel DCAP Quote Verification Library, TCB level selection.
 */
import { equalBytes } from '../base/bytes.js';
import { integerLe, type QuoteBody, type SgxReport, type TdReport } from './quote.js';
import type { ModuleSigner, PlatformLevel, QeIdentity, SvnLevel, TcbInfo, TcbStatus } from './tcb-info.js';

/** From the PCK certificate: 16 component SVNs, each 0..255, and the PCE's SVN. */
export interface PlatformTcb {
  readonly components: readonly number[];
  readonly pceSvn: number;
}

/**
 * The first level whose minima are all reached, in Intel's order (newest first); undefined when none is.
 *
 * @param teeTcbSvn  16 bytes of the TD report, undefined for SGX; with a module version in byte 1 the components 0 and 1
 *                   are judged by the module identities instead
 */
export function selectPlatformLevel(
  levels: readonly PlatformLevel[],
  platform: PlatformTcb,
  teeTcbSvn?: Uint8Array,
): PlatformLevel | undefined {
  return levels.find(
    ({ tcb }) =>
      tcb.sgxtcbcomponents.every((minimum, i) => platform.components[i]! >= minimum) &&
      platform.pceSvn >= tcb.pcesvn &&
      (teeTcbSvn === undefined || reachesTdx(tcb.tdxtcbcomponents, teeTcbSvn)),
  );
}

function reachesTdx(minima: readonly number[], svn: Uint8Array): boolean {
  const first = svn[1]! > 0 ? 2 : 0;
  return minima.every((minimum, i) => i < first || svn[i]! >= minimum);
}

export function selectSvnLevel(levels: readonly SvnLevel[], svn: number): SvnLevel | undefined {
  return levels.find(({ tcb }) => svn >= tcb.isvsvn);
}

interface ModuleJudgement {
  /** `TDX_01`, or `TDX` for modules of version 0. */
  readonly id: string;
  /** The document names this module, with the signer and the masked attributes of the report. */
  readonly known: boolean;
  /** undefined when no level is reached, and for version 0, whose SVN is part of the platform level. */
  readonly level: SvnLevel | undefined;
}

/** The TDX module that measured the TD: identity by version byte, signer and masked attributes, own SVN level. */
export function judgeModule(info: TcbInfo, report: TdReport): ModuleJudgement {
  const version = report.teeTcbSvn[1]!;
  if (version === 0) {
    return {
      id: 'TDX',
      known: info.tdxModule !== undefined && matchesSigner(info.tdxModule, report),
      level: undefined,
    };
  }
  const id = `TDX_${version.toString(16).padStart(2, '0').toUpperCase()}`;
  const identity = info.tdxModuleIdentities.find((entry) => entry.id.toUpperCase() === id);
  return {
    id,
    known: identity !== undefined && matchesSigner(identity, report),
    level: identity && selectSvnLevel(identity.tcbLevels, report.teeTcbSvn[0]!),
  };
}

function matchesSigner(signer: ModuleSigner, report: TdReport): boolean {
  return (
    equalBytes(signer.mrsigner, report.mrSignerSeam) &&
    matchesMasked(report.seamAttributes, signer.attributes, signer.attributesMask)
  );
}

/** Names of the QE's fields that differ from its signed identity; empty when it is that enclave. */
export function differingQeFields(identity: QeIdentity, report: SgxReport): string[] {
  const same = {
    mrSigner: equalBytes(identity.mrsigner, report.mrSigner),
    isvProdId: identity.isvprodid === integerLe(report.isvProdId),
    attributes: matchesMasked(report.attributes, identity.attributes, identity.attributesMask),
    miscSelect: matchesMasked(report.miscSelect, reversed(identity.miscselect), reversed(identity.miscselectMask)),
  };
  return Object.entries(same).flatMap(([name, equal]) => (equal ? [] : [name]));
}

/** Intel writes miscselect as a big-endian number, the report holds it little-endian. */
function reversed(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes).reverse();
}

function matchesMasked(value: Uint8Array, expected: Uint8Array, mask: Uint8Array): boolean {
  return value.every((byte, i) => (byte & mask[i]!) === (expected[i]! & mask[i]!));
}

export interface TcbJudgement {
  /** undefined when platform, module or QE reaches no level: then nothing vouches for it. */
  readonly status: TcbStatus | undefined;
  readonly platform: PlatformLevel | undefined;
  /** TDX only. */
  readonly module: ModuleJudgement | undefined;
  readonly qe: SvnLevel | undefined;
  readonly advisories: readonly string[];
  readonly evaluationDataNumber: number;
}

/** Platform, TDX module and QE judged together. */
export function judgeTcb(info: TcbInfo, tcb: PlatformTcb, body: QuoteBody, qe: SvnLevel | undefined): TcbJudgement {
  const report = body.kind === 'sgx' ? undefined : body.report;
  const platform = selectPlatformLevel(info.tcbLevels, tcb, report?.teeTcbSvn);
  const module = report && judgeModule(info, report);
  const parts = module && module.id !== 'TDX' ? [qe, module.level] : [qe];
  const levels = [platform, ...parts].filter((level) => level !== undefined);
  const complete = platform !== undefined && levels.length === parts.length + 1;
  return {
    status: complete
      ? combineStatuses(
          platform.tcbStatus,
          levels.slice(1).map(({ tcbStatus }) => tcbStatus),
        )
      : undefined,
    platform,
    module,
    qe,
    advisories: [...new Set(levels.flatMap(({ advisoryIDs }) => advisoryIDs))],
    evaluationDataNumber: info.tcbEvaluationDataNumber,
  };
}

/** The status of platform, TDX module and QE together: a part that is out of date makes the whole out of date. */
export function combineStatuses(platform: TcbStatus, parts: readonly TcbStatus[]): TcbStatus {
  if (platform === 'Revoked' || parts.includes('Revoked')) return 'Revoked';
  if (!parts.some((part) => part !== 'UpToDate')) return platform;
  return platform === 'ConfigurationNeeded' ||
    platform === 'ConfigurationAndSWHardeningNeeded' ||
    platform === 'OutOfDateConfigurationNeeded'
    ? 'OutOfDateConfigurationNeeded'
    : 'OutOfDate';
}
