/** The whole page: files in, a verdict and its reasons out. It keeps nothing and asks nobody, within the console too. */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { bundleBytesMax, factsOf, makeReport, partsOfBundle, sha256Hex, type Fault } from '#libs/review';
import { releaseVersion } from '#libs/review/text';
import { Beside } from './beside.js';
import { Bytes } from './bytes.js';
import { Chain } from './chain.js';
import { Checks } from './checks.js';
import { keyOf } from './compare.js';
import { Guard } from './guard.js';
import { askedAt, judge, reviewOf, shownFault, type Judgement } from './judge.js';
import { chainOf, standingOf } from './links.js';
import { bringsBundle, sortOut, type NamedFile, type Opened } from './open.js';
import { scriptSha256 } from './own-script.js';
import { Payment } from './payment.js';
import { measurementOf, type Place } from './places.js';
import { Quality } from './quality.js';
import { compareReport, FaultLine, Reports, ReportVerdict, type ComparedReport } from './report.js';
import { plain } from './text.js';
import { Timeline } from './timeline.js';
import { NoBundle, NotShown, Verdict, type Failure } from './verdict.js';
import { words } from './words.js';

interface Shown {
  readonly judgement?: Judgement;
  readonly fault?: Fault;
  readonly report?: ComparedReport;
  readonly reportFault?: Fault;
}

const nothing: Opened = { material: [], unknown: [] };

interface PageProps {
  /** Within another page, which has a heading, a main part and an end of its own. */
  readonly inside?: boolean;
  /** Judged at once. */
  readonly given?: NamedFile;
}

export function Page({ inside = false, given }: PageProps) {
  const [files, setFiles] = useState<readonly NamedFile[]>(given === undefined ? [] : [given]);
  const [opened, setOpened] = useState<Opened>(() => (given === undefined ? nothing : sortOut([given])));
  const [at, setAt] = useState(() => Math.floor(Date.now() / 1000));
  const { shown, setShown, share, judged, isBusy } = useJudging(opened, at);
  const [tooLong, setTooLong] = useState<string>();
  const [before, setBefore] = useState<string>();
  const [failed, setFailed] = useState<Failure>();
  const [drops, setDrops] = useState(0);

  const take = async (dropped: readonly File[]): Promise<void> => {
    const long = dropped.find(({ size }) => size > bundleBytesMax);
    setTooLong(long?.name);
    const short = dropped.filter((file) => file !== long && file.size <= bundleBytesMax);
    const read = await Promise.all(
      short.map(async (file) => ({ name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) })),
    );
    add(read);
  };
  const show = (all: readonly NamedFile[]): void => {
    setFiles(all);
    setOpened(sortOut(all));
  };
  const add = (more: readonly NamedFile[]): void => {
    if (more.length === 0) return;
    setFailed(undefined);
    setDrops((last) => last + 1);
    const isNew = bringsBundle(more, opened.bundle);
    const kept = files.filter((file) => !(isNew && sortOut([file]).bundle !== undefined) && !more.some(isSame(file)));
    if (isNew) setBefore(opened.bundle?.name);
    show(isNew ? [...more, ...kept] : [...kept, ...more]);
  };
  const giveUp = (error: unknown): void => {
    setFailed({ fault: shownFault(error), name: opened.bundle?.name ?? files[0]?.name ?? '' });
    setShown({});
    setBefore(undefined);
    show([]);
  };
  useDropAndPaste(take, add);

  const { judgement, fault } = shown;
  useFocusOnVerdict({ ...shown, ...failed });

  const beside = (
    <Beside opened={opened} judgement={judgement} onRemove={(file) => show(files.filter((one) => one !== file))} />
  );
  const result = useMemo(
    () =>
      judgement && (
        <Judged judgement={judgement} opened={opened} shown={shown} onTime={setAt}>
          {beside}
        </Judged>
      ),
    [judgement, opened, shown],
  );

  return (
    <>
      <Header isOpen={opened.bundle !== undefined} onFiles={take} inside={inside} />
      <Judging inside={inside} judged={judged} isBusy={isBusy}>
        <Above {...{ share, tooLong, before }} />
        {failed !== undefined && <NotShown {...failed} />}
        {opened.bundle === undefined && <Welcome />}
        <Guard of={drops} onFault={giveUp}>
          {fault !== undefined && opened.bundle !== undefined && <NoBundle fault={fault} name={opened.bundle.name} />}
          {result ?? beside}
        </Guard>
      </Judging>
      {!inside && <Footer />}
    </>
  );
}

/** What was opened as it is judged, last asked first; `share`: of a judgement at work, up to 1. */
function useJudging(opened: Opened, at: number) {
  const [shown, setShown] = useState<Shown>({});
  const [share, setShare] = useState<number>();
  const [judged, setJudged] = useState(0);
  const review = useMemo(() => reviewOf(opened), [opened]);
  const turn = useRef(0);
  useEffect(() => {
    const mine = ++turn.current;
    const isMine = (): boolean => turn.current === mine;
    void look(review, opened, at, (value) => isMine() && setShare(value)).then((result) => {
      if (!isMine()) return;
      setShare(undefined);
      setShown(result);
      setJudged(mine);
    });
  }, [opened, at]);
  return { shown, setShown, share, judged, isBusy: judged !== turn.current };
}

/** Whoever opened a file is led to what it comes to, by whatever means they read, as soon as it stands there. */
function useFocusOnVerdict({ judgement, fault }: Shown): void {
  const isDone = judgement !== undefined || fault !== undefined;
  useLayoutEffect(() => {
    if (isDone) document.getElementById('verdict')?.focus();
  }, [isDone, judgement?.bundle, fault]);
}

/** The same bytes under whatever name. */
const isSame =
  ({ bytes }: NamedFile) =>
  (other: NamedFile): boolean =>
    other.bytes.length === bytes.length && other.bytes.every((byte, at) => byte === bytes[at]);

interface JudgingProps {
  readonly inside: boolean;
  readonly judged: number;
  readonly isBusy: boolean;
  readonly children: ComponentChildren;
}

function Judging({ inside, judged, isBusy, children }: JudgingProps) {
  const Part = inside ? 'div' : 'main';
  return (
    <Part data-judged={judged} aria-busy={isBusy}>
      {children}
    </Part>
  );
}

type Review = ReturnType<typeof reviewOf>;

async function look(review: Review, opened: Opened, at: number, onProgress: (share: number) => void): Promise<Shown> {
  const { bundle, report } = opened;
  if (bundle === undefined || review === undefined) return {};
  try {
    const judgement = await judge(review, bundle, opened, at, onProgress);
    if (report === undefined) return { judgement };
    try {
      return {
        judgement,
        report: await compareReport(report.bytes, (times) => reportAt(review, bundle, opened, times)),
      };
    } catch (error) {
      return { judgement, reportFault: shownFault(error) };
    }
  } catch (error) {
    return { fault: shownFault(error) };
  }
}

async function reportAt(
  review: NonNullable<Review>,
  bundle: NamedFile,
  opened: Opened,
  times: readonly (number | null)[],
) {
  const judged = [];
  for (const at of times) judged.push({ at, verdict: await review(askedAt(at, opened)) });
  const [first, ...others] = judged;
  return makeReport(bundle.bytes, [first!, ...others], {
    ...{ name: 'veritrain reviewer', version: releaseVersion, scriptSha256: scriptSha256() },
  });
}

interface JudgedProps {
  readonly judgement: Judgement;
  readonly opened: Opened;
  readonly shown: Shown;
  readonly onTime: (at: number) => void;
  /** What was laid beside the bundle. */
  readonly children: ComponentChildren;
}

/** What a judgement is shown as: computed once for it. */
function arranged({ bundle, was, today }: Judgement) {
  const isProvedAlone = was.sessions.length === 0;
  const known = new Set(was.checks.map(keyOf));
  const onlyToday = today.checks.filter((check) => !known.has(keyOf(check)));
  const links = chainOf(was.checks, was.simulated, isProvedAlone);
  return {
    ...{ links, facts: factsOf(was), sha256: sha256Hex(bundle.bytes), parts: partsOfBundle(was.bundle) },
    withToday: chainOf([...was.checks, ...onlyToday], was.simulated, isProvedAlone),
    standing: standingOf(links),
  };
}

function Judged({ judgement, opened, shown, onTime, children }: JudgedProps) {
  const { was, at } = judgement;
  const { facts, sha256, links, withToday, parts, standing } = useMemo(() => arranged(judgement), [judgement]);
  const [place, setPlace] = useState<Place>(() => measurementOf(parts));
  const goTo = (chosen: Place): void => {
    setPlace(chosen);
    document.getElementById('bytes')?.scrollIntoView({ block: 'start' });
  };
  return (
    <>
      {was.simulated && <p class="banner">{words.simulated}</p>}
      <Verdict {...{ judgement, opened, sha256, facts }} onMeasurement={() => goTo(measurementOf(parts))} />
      {shown.report !== undefined && <ReportVerdict compared={shown.report} />}
      {shown.reportFault !== undefined && <FaultLine fault={shown.reportFault} />}
      {children}
      <Chain links={links} verdict={was} />
      <Timeline verdict={was} facts={facts} at={at} standing={standing} />
      <Quality verdict={was} loss={opened.curve} progress={facts.progress} standing={standing} />
      <Payment facts={facts} />
      <Checks judgement={judgement} links={withToday} onTime={onTime} onPlace={goTo} />
      <section aria-labelledby="open">
        <h2 id="open">{words.notChecked}</h2>
        <p class="wrap">
          {was.notChecked.length === 0
            ? 'Nothing: every part of this file is covered.'
            : was.notChecked.map(plain).join(', ')}
        </p>
        {was.notChecked.length > 0 && <p class="note">{words.notCheckedText}</p>}
      </section>
      <Bytes parts={parts} place={place} onPlace={setPlace} />
      <Reports judgement={judgement} />
    </>
  );
}

interface AboveProps {
  /** Of the judgement, up to 1. */
  readonly share: number | undefined;
  /** Names of a file that is refused, and of the bundle that was open before this one. */
  readonly tooLong: string | undefined;
  readonly before: string | undefined;
}

function Above({ share, tooLong, before }: AboveProps) {
  return (
    <>
      {share !== undefined && <progress max={1} value={share} aria-label="judging" />}
      {tooLong !== undefined && <TooLong name={tooLong} />}
      {before !== undefined && <p class="note">{words.instead(plain(before))}</p>}
    </>
  );
}

function TooLong({ name }: { readonly name: string }) {
  return (
    <p class="fault" role="alert">
      {plain(name)}: {words.tooLong}
    </p>
  );
}

interface HeaderProps {
  readonly isOpen: boolean;
  readonly onFiles: (files: readonly File[]) => Promise<void>;
  readonly inside: boolean;
}

function Header({ isOpen, onFiles, inside }: HeaderProps) {
  const Part = inside ? 'div' : 'header';
  return (
    <Part class={inside ? 'tools-above' : 'top'}>
      {inside ? (
        <p class="note">{words.inside}</p>
      ) : (
        <p class="brand">
          <strong>{words.title}</strong> <span class="note">{words.offline}</span>
        </p>
      )}
      <label class="button primary no-print">
        {isOpen ? words.add : words.open}
        <input
          type="file"
          multiple
          class="unseen"
          aria-label={isOpen ? 'Add files' : 'Open a bundle'}
          onChange={({ currentTarget }) => {
            void onFiles([...(currentTarget.files ?? [])]);
            currentTarget.value = '';
          }}
        />
      </label>
    </Part>
  );
}

function Welcome() {
  return (
    <section class="welcome" aria-labelledby="welcome">
      <h1 id="welcome">{words.welcome}</h1>
      <p>{words.welcomeText}</p>
      <p class="note">{words.welcomeWhat}</p>
    </section>
  );
}

function Footer() {
  const digest = scriptSha256();
  return (
    <footer>
      <p>
        Veritrain reviewer {releaseVersion}. {words.compareFirst}
      </p>
      {digest !== null && <p class="wrap">SHA-256 of its script: {digest}</p>}
    </footer>
  );
}

function useDropAndPaste(
  take: (files: readonly File[]) => Promise<void>,
  add: (files: readonly NamedFile[]) => void,
): void {
  const latest = useRef({ take, add });
  latest.current = { take, add };
  useEffect(() => {
    const over = (event: DragEvent): void => event.preventDefault();
    const drop = (event: DragEvent): void => {
      event.preventDefault();
      void latest.current.take([...(event.dataTransfer?.files ?? [])]);
    };
    const paste = (event: ClipboardEvent): void => {
      const files = [...(event.clipboardData?.files ?? [])];
      if (files.length > 0) return void latest.current.take(files);
      const text = event.clipboardData?.getData('text') ?? '';
      if (text.length >= 64) latest.current.add([{ name: 'pasted text', bytes: new TextEncoder().encode(text) }]);
    };
    addEventListener('dragover', over);
    addEventListener('drop', drop);
    addEventListener('paste', paste);
    return () => {
      removeEventListener('dragover', over);
      removeEventListener('drop', drop);
      removeEventListener('paste', paste);
    };
  }, []);
}
