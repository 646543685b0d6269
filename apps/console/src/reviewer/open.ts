/** Files that somebody drops: which one is the bundle, which a report, which material, told by their bytes. */
import {
  beginsAsBundle,
  bundleBytesMax,
  fromBase64,
  isStartOf,
  isText,
  policyFault,
  readGroth16Key,
  readLogExport,
  readMaterial,
  sha256Hex,
  type AppraisalPolicy,
  type Groth16Key,
  type LogExport,
  type MaterialKind,
} from '#libs/review';

export interface NamedFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export interface MaterialFile {
  readonly file: NamedFile;
  readonly sha256: string;
  readonly kind: MaterialKind;
}

export interface Opened {
  readonly bundle?: NamedFile;
  readonly report?: NamedFile;
  readonly curve?: LossCurve;
  readonly policy?: { readonly file: NamedFile; readonly policy: AppraisalPolicy };
  readonly key?: { readonly file: NamedFile; readonly key: Groth16Key };
  /** What was revoked in a newer log. */
  readonly logExport?: { readonly file: NamedFile; readonly content: LogExport };
  /** Weights that the bundle's job starts from, where its manifest names some. */
  readonly start?: NamedFile;
  readonly material: readonly MaterialFile[];
  readonly unknown: readonly NamedFile[];
}

/** Points as a node reported them: nothing here proves them. */
export interface LossCurve {
  readonly file: NamedFile;
  readonly points: readonly { readonly step: number; readonly loss: number }[];
}

export function sortOut(files: readonly NamedFile[]): Opened {
  let opened: Opened = { material: [], unknown: [] };
  const ordered = files.toSorted((a, b) => Number(isBundle(b)) - Number(isBundle(a)));
  for (const file of ordered) opened = { ...opened, ...placeOf(file, opened) };
  return opened;
}

/** What begins as bundles do, pasted as base64 too: a file that does not is taken for one only where no other is. */
export function isBundle({ bytes }: NamedFile): boolean {
  return beginsAsBundle(bytes) || beginsAsBundle(bytesOfText(bytes) ?? new Uint8Array());
}

function placeOf(file: NamedFile, so: Opened): Partial<Opened> {
  const read = readMaterial(file.bytes);
  if (read?.policy !== undefined) return { policy: { file, policy: read.policy } };
  if (read !== undefined) {
    return { material: [...so.material, { file, sha256: sha256Hex(file.bytes), kind: read.kind }] };
  }
  const key = readGroth16Key(file.bytes);
  if (key !== undefined) return { key: { file, key } };
  const logExport = readLogExport(file.bytes);
  if (logExport !== undefined) return { logExport: { file, content: logExport } };
  if (file.bytes[0] === 0xd2) return { report: file };
  const curve = curveOf(file);
  if (curve !== undefined) return { curve };
  if (policyFault(file.bytes) !== undefined) return { unknown: [...so.unknown, file] };
  if (so.bundle === undefined) {
    const pasted = isText(file.bytes) ? bytesOfText(file.bytes) : undefined;
    return { bundle: pasted === undefined ? file : { ...file, bytes: pasted } };
  }
  if (isStartOf(so.bundle.bytes, file.bytes)) return { start: file };
  return { unknown: [...so.unknown, file] };
}

/** Whether files that are dropped hold another bundle than the one that is open; anything else leaves that one alone. */
export function bringsBundle(files: readonly NamedFile[], open: NamedFile | undefined): boolean {
  const isStart = ({ bytes }: NamedFile): boolean => open !== undefined && isStartOf(open.bytes, bytes);
  const isOpen = open !== undefined && isBundle(open);
  return files.some((file) => (isBundle(file) || (!isOpen && sortOut([file]).bundle !== undefined)) && !isStart(file));
}

/** Base64 of a bundle, as mail and forms carry it. */
export function bytesOfText(text: Uint8Array): Uint8Array | undefined {
  if (text.length > 2 * bundleBytesMax) return undefined;
  const letters = new TextDecoder('latin1').decode(text).replaceAll(/\s/g, '');
  if (letters.length < 64 || !/^[A-Za-z0-9+/]+={0,2}$/.test(letters)) return undefined;
  try {
    return fromBase64(letters);
  } catch {
    return undefined;
  }
}

const eventsBytesMax = 16 * 1024 * 1024;
const pointsMax = 200_000;

/** Events of a job, as `job watch --json` prints them one a line, or as a list. */
function curveOf(file: NamedFile): LossCurve | undefined {
  const { bytes } = file;
  const first = bytes[0];
  if ((first !== 0x5b && first !== 0x7b) || bytes.length > eventsBytesMax) return undefined;
  const text = new TextDecoder().decode(bytes);
  const events = first === 0x5b ? parsed(text) : text.split('\n').flatMap((line) => parsed(line) ?? []);
  if (!Array.isArray(events)) return undefined;
  const points = (events as unknown[]).flatMap(pointOf).slice(0, pointsMax);
  return points.length < 2 ? undefined : { file, points: points.toSorted((a, b) => a.step - b.step) };
}

function pointOf(event: unknown): LossCurve['points'] {
  const outer = event as { data?: unknown } | null;
  const inner = (outer?.data ?? outer) as { step?: unknown; loss?: unknown } | null;
  if (typeof inner !== 'object' || inner === null) return [];
  const [step, loss] = [Number(inner.step), Number(inner.loss)];
  return inner.loss !== null && Number.isFinite(step) && Number.isFinite(loss) ? [{ step, loss }] : [];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
