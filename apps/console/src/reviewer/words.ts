/** Every sentence of the page, so that another language is another file. Verdicts and checks bring their own. */
import type { BundleFacts, Check, HeadingId, MaterialKind } from '#libs/review';
import type { LinkState, ShownLink, Standing } from './links.js';

export const linkWords: Readonly<Record<ShownLink, { readonly name: string; readonly about: string }>> = {
  root: { name: 'Vendor root', about: 'The maker of the processor vouches for the chip.' },
  chip: { name: 'Chip', about: 'The chip itself made this evidence.' },
  firmware: { name: 'Firmware', about: 'What protects the program is new enough and not condemned.' },
  code: { name: 'Measured code', about: 'The program that ran is the one that was agreed on.' },
  session: { name: 'Session keys', about: 'The keys that signed the training belong to that program.' },
  receipts: { name: 'Receipts', about: 'Every stretch of the training is signed or proved, on the agreed data.' },
  seal: { name: 'Seal', about: 'The whole run and what was delivered are signed.' },
  log: { name: 'Public log', about: 'A log that nobody can change has it, and others saw that it has.' },
  payment: { name: 'Payment', about: 'What the chain did with the money.' },
  proof: { name: 'Proof', about: 'No machine needs to be believed: mathematics shows the steps.' },
};

/** What lies beside a bundle. */
export const materialWords: Readonly<Record<MaterialKind, string>> = {
  certificates: 'certificates',
  crl: 'revocation list (CRL)',
  ocsp: 'answer of a certificate service (OCSP)',
  rim: 'reference manifest (RIM)',
  intel: 'Intel collateral',
  advisories: 'advisories',
  policy: 'policy',
  'log-policy': 'trust policy of logs',
};

/** Entries of a log, by kind. */
export const loggedWords: Readonly<Record<string, string>> = {
  'job-bundle': 'this file',
  'key-release': 'a release of the data key',
  policy: 'the policy',
  image: 'the program',
  issuer: 'the key service',
};

export const stateWords: Readonly<Record<LinkState, { readonly mark: string; readonly word: string }>> = {
  holds: { mark: '✓', word: 'holds' },
  remark: { mark: '!', word: 'with a remark' },
  unknown: { mark: '?', word: 'not decided' },
  broken: { mark: '✕', word: 'broken' },
  unsupported: { mark: '◌', word: 'unsupported' },
  absent: { mark: '–', word: 'not in this file' },
};

export const statusWords: Readonly<Record<Check['status'], { readonly mark: string; readonly word: string }>> = {
  met: { mark: '✓', word: 'holds' },
  warned: { mark: '!', word: 'remark' },
  missing: { mark: '?', word: 'missing' },
  'not-checked': { mark: '–', word: 'not checked' },
  refused: { mark: '✕', word: 'refused' },
  forged: { mark: '✕', word: 'forged' },
};

export const assuranceWords = {
  tee: 'an attested machine signs',
  zk: 'every step is proved; no machine needs to be believed',
  'tee+zk': 'an attested machine signs, and every step is proved',
  sampled: 'stretches that the chain draws are proved',
} as const satisfies Readonly<Record<BundleFacts['assurance'], string>>;

/** Before the sentence that a check stands for. */
export const reasonWords: Readonly<Record<Check['status'], string>> = {
  met: 'Holds:',
  warned: 'Decide yourself whether this holds:',
  missing: 'Not known whether this holds:',
  'not-checked': 'Not looked at:',
  refused: 'Does not hold:',
  forged: 'Does not hold:',
};

export const headingMarks: Readonly<Record<HeadingId, string>> = {
  verified: '✓',
  'verified-with-remarks': '!',
  simulated: '!',
  'not-decided': '?',
  'do-not-rely': '✕',
  'not-a-bundle': '✕',
};

/** Whether certificates behind a machine were taken back by its vendor. */
export const revokedWords = {
  yes: 'yes',
  no: 'no certificate behind it',
  unknown: 'not known: lay a current revocation list beside this file',
} as const;

export const words = {
  title: 'Veritrain reviewer',
  offline: 'Offline. Nothing leaves this page.',
  inside: 'Judged in this browser, by the same code as the command line: no answer of the control plane decides.',
  open: 'Open a bundle…',
  add: 'Add files…',
  welcome: 'Judge an evidence bundle',
  welcomeText:
    'Drop a bundle (.vtb) anywhere on this page, choose it, or paste it as base64. Lay your own policy, revocation lists, advisories, an export of a log, start weights, an event log or a signed report beside it.',
  welcomeWhat:
    'This page reads the file, judges it by the same code as the command line, and shows why. It asks no network, keeps nothing and decides nothing by itself.',
  drop: 'Drop files here',
  simulated: 'SIMULATED HARDWARE. This shows that the software works, not that a machine did anything.',
  compareFirst: 'Compare this file with the published digest first: a page cannot vouch for itself.',
  byOwnPolicy: 'judged by the bundle’s own policy, which its maker chose. Drop yours here to judge by it',
  byYourPolicy: 'judged by your policy',
  byNoPolicy: 'judged by no policy',
  neutral: ', the neutral one of this release',
  notShipped: ', no policy of this release',
  instead: (name: string): string => `Opened in place of ${name}.`,
  modelFile: 'not judged here: `veritrain report make --model` refuses one that names another job or weights',
  whenFresh: 'when the evidence was fresh',
  whatChanged: 'Compare the two, check by check',
  proofOf: ({ superblocks, steps }: NonNullable<BundleFacts['proofOf']>): string =>
    `covers up to ${superblocks} superblocks of ${steps} steps, in one`,
  code: 'Code that ran',
  codeRefused: 'Code that is named, not accepted',
  revoked: 'Is the chip revoked?',
  chain: 'Chain of trust',
  notLogged: 'Log: not logged. This file has no proof of a transparency log.',
  logBroken: 'Log: what this file says of a log does not hold.',
  logUntrusted: 'You named no log that you trust: drop a trust policy (tlog-policy) to have its signatures checked.',
  logUnwitnessed: 'The log that you trust signed; too few of your witnesses saw it.',
  time: 'Time',
  timeText:
    'All times UTC. A key service signed for the times of sessions; ◆ is a time that enough of your witnesses signed for.',
  checks: 'Checks',
  bytes: 'Evidence, byte by byte',
  quality: 'Quality',
  loss: 'Loss, as the node reported it',
  lossText: 'Reported, not proved: from the file of events that you dropped.',
  noCurve:
    'This file has no signed measurements of quality. Drop a file of the job’s events to see the loss that the node reported.',
  noProgress:
    'This file has no signed measurements of quality, and the job lets no figure out of the enclave while it trains: a curve of its loss would be made up.',
  idle: { mark: '·', word: 'does not apply' },
  file: 'File',
  secondBundle: 'another bundle, not judged: one at a time. Drop it alone to judge it',
  material: 'What you laid beside it',
  notChecked: 'Not covered by any check',
  notCheckedText: 'Whoever made or passed on this file could have put something else there, and no check would notice.',
  reported: 'Reported, not proved',
  report: 'Keep this verdict',
  documents: 'Documents made of it',
  documentsText:
    'Each value says whether it is proved, attested or declared. Their subject is the commitment to the weights: for exported files, what a provider declares, and a model signature use `veritrain report make`.',
  notShown: 'This page failed to show the file: nothing of it is judged here',
  tooLong: 'This file is longer than 16 MiB, the most that a bundle may have.',
} as const;

export const standingWords: Readonly<Record<Standing, string>> = {
  holds: 'attested',
  open: 'not decided',
  broken: 'not accepted',
};

export const qualityWords: Readonly<Record<Standing, string>> = {
  holds: 'Signed by the machine that trained, over the agreed test data.',
  open: 'What these figures hang on is not decided: do not rely on them before it is.',
  broken: 'What these figures hang on does not hold: do not rely on them.',
};
