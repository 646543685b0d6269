/** Reports: the verdict as JSON, as a page without script, as paper, and signed. */
import { useState } from 'preact/hooks';
import {
  differencesOf,
  documentFormats,
  encodeReport,
  makeDocument,
  makeReport,
  openReport,
  readSigningKey,
  signReport,
  toHex,
  type DocumentFormat,
  type Fault,
  type Report,
} from '#libs/review';
import { releaseVersion } from '#libs/review/text';
import { Digest } from '../ui/copy.js';
import { download } from '../ui/download.js';
import { frozenPage } from './frozen.js';
import { shownFault, type Judgement } from './judge.js';
import { scriptSha256 } from './own-script.js';
import { WithCode } from '../ui/with-code.js';
import { plain } from './text.js';
import { words } from './words.js';

function reportOf({ bundle, was, today, at }: Judgement): Report {
  return makeReport(
    bundle.bytes,
    [
      { at: null, verdict: was },
      { at, verdict: today },
    ],
    { name: 'veritrain reviewer', version: releaseVersion, scriptSha256: scriptSha256() },
  );
}

interface Signed {
  readonly signer: string;
  readonly signature: string;
}

export function Reports({ judgement }: { readonly judgement: Judgement }) {
  const [signed, setSigned] = useState<Signed>();
  const [fault, setFault] = useState<Fault>();
  const bytes = (): Uint8Array => encodeReport(reportOf(judgement));
  const sign = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    try {
      const key = readSigningKey(new Uint8Array(await file.arrayBuffer()));
      const made = await signReport(bytes(), key);
      key.fill(0);
      const { signer, signature } = await openReport(made);
      setSigned({ signer: toHex(signer), signature: toHex(signature) });
      setFault(undefined);
      download('report.vtr', made, 'application/cose');
    } catch (error) {
      setFault(shownFault(error));
    }
  };
  return (
    <section aria-labelledby="report" class="reports">
      <h2 id="report" class={signed === undefined ? 'no-print' : undefined}>
        {words.report}
      </h2>
      <div class="controls no-print">
        <button type="button" onClick={() => print()}>
          Print or save as PDF
        </button>
        <button type="button" onClick={() => download('report.json', bytes(), 'application/json')}>
          Save report.json
        </button>
        <button type="button" onClick={() => download('report.html', frozenPage(), 'text/html')}>
          Save this page
        </button>
        <label class="button">
          Sign report…
          <input
            type="file"
            class="unseen"
            aria-label="Sign the report with a PKCS #8 Ed25519 key"
            onChange={({ currentTarget }) => {
              void sign(currentTarget.files?.[0]);
              currentTarget.value = '';
            }}
          />
        </label>
      </div>
      <p class="note no-print">
        Signing takes a PKCS #8 file of an Ed25519 key, saves report.vtr and forgets the key. Whoever gets report.vtr
        and the bundle judges anew: drop both here, or <code>veritrain report verify</code>.
      </p>
      <Documents judgement={judgement} onFault={setFault} />
      {signed !== undefined && (
        <dl class="facts" role="status">
          <div>
            <dt>Signed by</dt>
            <dd>
              <Digest value={signed.signer} label="signer" />
            </dd>
          </div>
          <div>
            <dt>Signature</dt>
            <dd class="wrap">{signed.signature}</dd>
          </div>
        </dl>
      )}
      {fault !== undefined && <FaultLine fault={fault} />}
    </section>
  );
}

/** Those that need no file beside the bundle. */
const savedHere = ['cyclonedx', 'in-toto', 'vsa', 'annex-iv', 'training-data'] as const satisfies DocumentFormat[];

interface DocumentsProps {
  readonly judgement: Judgement;
  readonly onFault: (fault: Fault | undefined) => void;
}

function Documents({ judgement: { bundle, was }, onFault }: DocumentsProps) {
  const save = (format: DocumentFormat): void => {
    const { file, mediaType } = documentFormats[format];
    try {
      const input = { bundle: bundle.bytes, verdict: was, files: [], declared: {}, modelName: 'model' };
      download(file, makeDocument(format, { ...input, at: Math.floor(Date.now() / 1000) }), mediaType);
      onFault(undefined);
    } catch (error) {
      onFault(shownFault(error));
    }
  };
  return (
    <>
      <h3 class="no-print">{words.documents}</h3>
      <div class="controls no-print">
        {savedHere.map((format) => (
          <button key={format} type="button" onClick={() => save(format)}>
            {documentFormats[format].title}
          </button>
        ))}
      </div>
      <p class="note no-print">
        <WithCode text={words.documentsText} />
      </p>
    </>
  );
}

export function FaultLine({ fault }: { readonly fault: Fault }) {
  return (
    <p class="fault" role="alert">
      <code>{fault.code}</code>: expected {plain(fault.expected)}, got {plain(fault.got)}. {plain(fault.action)}
    </p>
  );
}

/** What became of a signed report beside its bundle. */
export interface ComparedReport {
  readonly signer: string;
  readonly differences: readonly string[];
  readonly judgements: Report['judgements'];
}

/** @param again judges as of the report's own times @throws Rejection COSE_*, REPORT_* */
export async function compareReport(
  signed: Uint8Array,
  again: (times: readonly (number | null)[]) => Promise<Report>,
): Promise<ComparedReport> {
  const { report, signer } = await openReport(signed);
  const anew = await again(report.judgements.map(({ at }) => at));
  return { signer: toHex(signer), differences: differencesOf(report, anew), judgements: report.judgements };
}

export function ReportVerdict({ compared }: { readonly compared: ComparedReport }) {
  const { signer, differences, judgements } = compared;
  const isSame = differences.length === 0;
  return (
    <section class={`given ${isSame ? 'holds' : 'broken'}`} aria-labelledby="given">
      <h2 id="given">
        <span class="mark" aria-hidden="true">
          {isSame ? '✓' : '✕'}
        </span>
        {isSame
          ? 'The signed report says the same, check for check'
          : 'The signed report does not say what this page finds'}
      </h2>
      <p>
        Signed by <Digest value={signer} label="signer of the report" />: compare this key with one that you know.
      </p>
      {!isSame && <p>It differs in {differences.map(plain).join(', ')}.</p>}
      <p class="note">It says: {judgements.map(({ heading }) => plain(heading)).join('; then ')}.</p>
    </section>
  );
}
