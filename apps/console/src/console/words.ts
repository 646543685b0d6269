/** The longer sentences of the console, so that another language is another file. */
export const words = {
  skip: 'Skip to the page',
  nowhere: 'There is no such page for you',
  nowhereText: 'The address is wrong, or your key has another role. Choose a page from the list.',
  signIn: 'Sign in',
  signInText: 'With an API key of this control plane: it is exchanged for a session and not kept.',
  signInWhence:
    'Whoever runs the control plane makes keys. `npm start` and `npm run serve` print one when they are up.',
  signInByKey: 'Sign in with the key',
  insecure: 'This page came over plain http from another machine: nobody may sign in here.',
  insecureDo: 'Open it under https, or through a tunnel to 127.0.0.1.',
  wrongKey: 'This key is not known here, or was revoked, or has expired. Ask whoever runs the control plane for one.',
  noAnswer: 'The control plane does not answer',
  noAnswerNow: 'The control plane cannot answer now',
  notOut: 'Could not sign out: your session has not ended.',
  ended: 'Your session has ended. Sign in again.',
  loss: 'Loss on the training data',
  accuracy: 'Accuracy on the training data',
  reported: 'Reported while it trains, not proved. What was measured and signed stands with the evidence.',
  noCurve: 'No figures yet. Some jobs let nothing out while they train: then the evidence shows what was measured.',
  escrow: 'As the control plane reads the chain. Your own node of the chain is the better witness.',
  paysItself:
    'If you do nothing, anybody may have the escrow pay the node once the time for complaints in your terms is over. This page does not know when that is. This command says until when nothing can be done, and pays after that:',
  loadingCurve: 'Loading the figures…',
  curveAway: 'The figures cannot be loaded: the control plane does not answer. It is asked again by itself.',
  storyAway: 'What happened cannot be loaded: the control plane does not answer. It is asked again by itself.',
  curveComing: 'A curve wants two figures: they are on their way.',
  noFigures: 'The node reported no figures.',
  noEvidence: 'There is no bundle yet. It is made when the job is delivered.',
  neverEvidence: 'This job ended without a delivery: there is no bundle to judge.',
  simulated: 'SIMULATED hardware: it shows that the software works, not that a machine did anything.',
  allSimulated: 'Every machine here that can be attested says that its hardware is SIMULATED: it shows nothing.',
  someSimulated: 'Some nodes here are SIMULATED, as they say. The page of a job says what its node showed.',
  webhooks: 'Addresses that are told of changes of your jobs. Each message is signed with the secret of its webhook.',
  secretOnce: 'It is shown now and never again. Whoever is told verifies with it that a message is ours.',
  deliveries:
    'The newest fifty, each under one id however often it is sent. What nobody takes is sent again for three days.',
  letters: 'Messages of nodes that could not be taken, with the reason. Mend the cause, then have them handled again.',
  log: 'What this control plane brought to the transparency log, as it says. The log itself and its witnesses know better.',
  noLog: 'This control plane uses no transparency log: nothing of its jobs is logged.',
  logProof: 'Save an entry with its proof, and verify both offline against the logs and witnesses that you trust.',
  sessions: 'A session ends after 30 minutes without use, and twelve hours after its beginning at the latest.',
  preflight: 'A host that says it is fit has shown nothing: what a policy decides stands under its evidence.',
  noNodes: 'Jobs wait until then.',
} as const;

/** Why a webhook got no answer. */
export const outcomes: Readonly<Record<string, string>> = {
  ENOTFOUND: 'No host has this name: look at the address.',
  EAI_AGAIN: 'The name of the host could not be looked up just now.',
  ECONNREFUSED: 'Nothing listens at this address and port.',
  ECONNRESET: 'The host cut the connection without an answer.',
  EHOSTUNREACH: 'No way leads to this host.',
  ENETUNREACH: 'No way leads to the network of this host.',
  ETIMEDOUT: 'The host did not answer in time.',
  ABORT_ERR: 'The host did not answer within ten seconds.',
  CERT_HAS_EXPIRED: 'The certificate of the host has expired.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The host signed its certificate itself: nobody else vouches for it.',
  WEBHOOK_TARGET: 'The address is not public: this control plane sends nothing there.',
  WEBHOOK_GONE: 'The webhook was removed, or its receiver said that it is gone.',
};

/** Codes that somebody meets who did nothing wrong: plainly. */
export const faults: Readonly<Record<string, { readonly says: string; readonly action?: string }>> = {
  UNREACHABLE: { says: 'The control plane does not answer.' },
  OVERLOADED: { says: 'The control plane has too much to do just now, and put this off.', action: '' },
  RATE_LIMITED: { says: 'Too much was asked from here within a minute.' },
};

/** Why somebody who came back from the identity provider is not in. */
export const refusals: Readonly<Record<string, string>> = {
  OIDC_STATE:
    'This answer belongs to no attempt of this browser, or to one of more than ten minutes ago. Sign in again.',
  OIDC_REFUSED: 'The identity provider did not say who you are. Sign in again, or ask whoever runs it.',
  OIDC_TOKEN:
    'The identity provider’s answer does not hold. Try again; whoever runs the control plane finds why in its log.',
  OIDC_AWAY: 'The identity provider does not answer. Try again later, or sign in with an API key.',
  OIDC_NO_ROLE: 'You are known, but no rule here gives you a role. Ask whoever runs the control plane for access.',
  OIDC_REVOKED: 'Your access was revoked here. Ask whoever runs the control plane.',
  RATE_LIMITED: 'Too many attempts. Wait a minute, then sign in again.',
};
