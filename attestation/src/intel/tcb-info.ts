/**
 * Intel's two signed JSON documents, read into types: TCB info (version 3) and enclave identity (version 2).
 * Members beyond those read here are allowed: Intel adds some without a new version.
 * Source: Intel Provisioning Certification Service API, version 4.
 */
import { fromHex, utf8 } from '../base/bytes.js';
import { derTag, derTime } from '../base/der.js';
import { Rejection } from '../base/errors.js';
import { bytes, list, oneOf, text, uint, type Field, type Shaped } from '../base/shape.js';
import { collateralTextMax, tcbLevelsMax } from './limits.js';

export const tcbStatuses = [
  'UpToDate',
  'SWHardeningNeeded',
  'ConfigurationNeeded',
  'ConfigurationAndSWHardeningNeeded',
  'OutOfDate',
  'OutOfDateConfigurationNeeded',
  'Revoked',
] as const;
export type TcbStatus = (typeof tcbStatuses)[number];

const hex =
  (size: number): Field<Uint8Array> =>
  (value, path) =>
    bytes(size)(fromHex(text(2 * size)(value, path)), path);

/** `YYYY-MM-DDThh:mm:ssZ` as Unix seconds. */
const time: Field<number> = (value, path) => {
  const iso = text(20)(value, path);
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(iso)) throw misread(path, 'YYYY-MM-DDThh:mm:ssZ', iso);
  const content = utf8(iso.replace(/[-:T]/g, ''));
  return derTime({ tag: derTag.generalizedTime, content, raw: content });
};

const optional =
  <T>(field: Field<T>, absent: T): Field<T> =>
  (value, path) =>
    value === undefined ? absent : field(value, path);

/** A JSON object with at least these members. */
export const object =
  <S extends Readonly<Record<string, Field<unknown>>>>(shape: S): Field<Shaped<S>> =>
  (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw misread(path, 'an object', typeof value);
    const member = (name: string): unknown =>
      Object.hasOwn(value, name) ? value[name as keyof typeof value] : undefined;
    const entries = Object.entries(shape).map(([name, field]) => [name, field(member(name), `${path}.${name}`)]);
    return Object.fromEntries(entries) as Shaped<S>;
  };

const components: Field<readonly number[]> = (value, path) => {
  const svns = list(object({ svn: uint(255) }), 16)(value, path).map(({ svn }) => svn);
  return svns.length === 16 ? svns : raise(misread(path, '16 components', `${svns.length}`));
};

const level = {
  tcbStatus: oneOf(...tcbStatuses),
  tcbDate: text(20),
  advisoryIDs: optional(list(text(64), 256), []),
};
const svnLevel = object({ ...level, tcb: object({ isvsvn: uint(0xffff) }) });
const platformLevel = object({
  ...level,
  tcb: object({
    sgxtcbcomponents: components,
    pcesvn: uint(0xffff),
    tdxtcbcomponents: optional(components, []),
  }),
});
const signer = { mrsigner: hex(48), attributes: hex(8), attributesMask: hex(8) };
const moduleIdentity = object({ id: text(16), ...signer, tcbLevels: list(svnLevel, tcbLevelsMax) });
const window = { issueDate: time, nextUpdate: time, tcbEvaluationDataNumber: uint(0xffffffff) };

const tcbInfo = object({
  id: oneOf('SGX', 'TDX'),
  version: oneOf(3),
  ...window,
  fmspc: hex(6),
  pceId: hex(2),
  tdxModule: optional<Shaped<typeof signer> | undefined>(object(signer), undefined),
  tdxModuleIdentities: optional(list(moduleIdentity, tcbLevelsMax), []),
  tcbLevels: list(platformLevel, tcbLevelsMax),
});

const qeIdentity = object({
  id: oneOf('QE', 'TD_QE'),
  version: oneOf(2),
  ...window,
  miscselect: hex(4),
  miscselectMask: hex(4),
  attributes: hex(16),
  attributesMask: hex(16),
  mrsigner: hex(32),
  isvprodid: uint(0xffff),
  tcbLevels: list(svnLevel, tcbLevelsMax),
});

/** Field names as Intel writes them; times in Unix seconds, hexadecimal text as bytes. */
export type TcbInfo = ReturnType<typeof tcbInfo>;
export type QeIdentity = ReturnType<typeof qeIdentity>;
export type PlatformLevel = ReturnType<typeof platformLevel>;
export type SvnLevel = ReturnType<typeof svnLevel>;
export type ModuleSigner = Shaped<typeof signer>;

/** @throws Rejection QUOTE_COLLATERAL_FORMAT, MESSAGE_SHAPE, BYTES_HEX, DER_MALFORMED for a date that does not exist */
export function parseTcbInfo(json: string): TcbInfo {
  const info = tcbInfo(parseJson(json, collateralTextMax), 'tcbInfo');
  if (info.id === 'TDX' && info.tcbLevels.some(({ tcb }) => tcb.tdxtcbcomponents.length === 0)) {
    throw misread('tcbInfo.tcbLevels', 'tdxtcbcomponents in every level', 'none');
  }
  return info;
}

/** @throws Rejection as `parseTcbInfo` */
export function parseQeIdentity(json: string): QeIdentity {
  return qeIdentity(parseJson(json, collateralTextMax), 'enclaveIdentity');
}

/** @throws Rejection QUOTE_COLLATERAL_FORMAT */
export function parseJson(json: string, lengthMax: number): unknown {
  if (json.length > lengthMax) throw misread('document', `at most ${lengthMax} characters`, `${json.length}`);
  try {
    return JSON.parse(json);
  } catch {
    throw misread('document', 'JSON', 'other text');
  }
}

function misread(path: string, expected: string, got: string): Rejection {
  const rule = 'Intel PCS API version 4';
  return new Rejection('QUOTE_COLLATERAL_FORMAT', { expected: `${path}: ${expected}`, got: got.slice(0, 40), rule });
}

function raise(error: Rejection): never {
  throw error;
}
