/** What a bundle is checked for against the transparency log, by code. */
import type { CheckRule } from '../check/checks.js';

const source = 'attestation/LOG.md §4';
const ask = 'ask whoever made the bundle for the proofs, or look the entries up in the log';

export const logRules = {
  LOG_BUNDLE: {
    claim: 'storage-opaque',
    expected: "a log entry of kind job-bundle that opens to this bundle's digest",
    rule: 'The newest job-bundle entry opens to the digest of this bundle, its escrow, policy and outcome, and to what the key broker’s results say.',
    source,
    action: ask,
  },
  LOG_ENTRIES: {
    claim: 'storage-opaque',
    expected: 'entries of this job, each signed by its issuer, opened, and proved under its checkpoint',
    rule: 'Every entry is signed by the key that it names, opens to its body, stands under its checkpoint and in the order of the log.',
    source,
    action: 'do not rely on this bundle: its log entries are not what a log has',
  },
  LOG_CHECKPOINT: {
    claim: 'storage-opaque',
    expected: 'checkpoints that a log of the trust policy signed, each of a tree that the next goes on from',
    rule: 'A log that the reader trusts signed every checkpoint, and all of them are of one growing tree.',
    source,
    action: 'name the logs that you trust: `veritrain bundle verify --log-policy`',
  },
  LOG_WITNESSES: {
    claim: 'storage-opaque',
    expected: 'a quorum of the trust policy behind every checkpoint',
    rule: 'As many witnesses as the reader’s trust policy asks for saw every checkpoint.',
    source,
    action: 'a checkpoint that nobody else saw may be one that the log shows to you alone',
  },
  LOG_TIME: {
    claim: 'storage-opaque',
    expected: 'every entry witnessed within an hour of its own time',
    rule: 'The quorum saw every entry from 300 s before the time that it names to an hour after it.',
    source,
    action: 'rely on the time of the witnesses and not on that of the entry',
  },
  LOG_RELEASES: {
    claim: 'storage-opaque',
    expected: 'a log entry of every release of the data key that the bundle shows, by the key broker of the terms',
    rule: 'Every release to a session, and without sessions one to a node without a TEE, has a key-release entry that opens to it, logged before the bundle, by a key that the account of the terms’ key broker signed for.',
    source,
    action: 'ask the data owner whether its key broker logs what it releases',
  },
  LOG_POLICY: {
    claim: 'storage-opaque',
    expected: "a log entry of the job's policy, older than the first release",
    rule: 'The policy that the job spec names was logged before the data key was first released for the job.',
    source,
    action: ask,
  },
  LOG_IMAGE: {
    claim: 'storage-opaque',
    expected: 'a log entry of the image of every session, older than the first release',
    rule: 'What every session measured stands in an image entry of a publisher, logged before the data key was first released for the job.',
    source,
    action:
      'ask who published the image for its entry in the log: whoever runs what nobody published may have changed it',
  },
  LOG_REVOKED: {
    claim: 'storage-opaque',
    expected: 'no revocation in the log of a key, image, policy, chip or key broker of this bundle',
    rule: 'No revocation entry of a log that the reader trusts names anything that this bundle rests on, as of the time of its sessions.',
    source,
    action: 'fetch what was revoked since: `veritrain log export`, then `bundle verify --log-export`',
  },
} as const satisfies Record<string, CheckRule>;

export type LogCode = keyof typeof logRules;
