/** A log and a witness in folders of their own, as processes start them: settings, test keys, trust policy. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { to0x } from '#attestation/base';
import { ed25519Signer } from '#attestation/base';
import { noteKeyText, parseTrustPolicy, type EntryIssuer } from '#attestation/log';
import { logKeyOf } from '#test/log-keys';

const issuerKinds = [
  ...['key-release', 'session-end', 'journal-head', 'journal-import', 'job-bundle', 'image', 'revocation'],
  ...['policy', 'floors', 'issuer', 'anchor'],
];

export function issuerOf(name: string): EntryIssuer & { readonly kinds: readonly string[] } {
  const { key, secret } = logKeyOf(`issuer ${name}`);
  return { name, publicKey: key.publicKey, sign: ed25519Signer(secret), kinds: issuerKinds };
}

export interface LogSiteOptions {
  readonly folder: string;
  readonly origin?: string;
  readonly witnessName?: string;
  readonly witnessPort: number;
  readonly port?: number;
  readonly quorum?: string;
  readonly databaseUrl?: string;
  readonly intervalMs?: number;
  readonly issuers?: readonly string[];
}

/** @returns the settings files and the trust policy that readers take */
export function layOutLog(options: LogSiteOptions) {
  const {
    folder,
    origin = 'log.example/test/2026',
    witnessName = 'witness.example/w',
    witnessPort,
    port = 0,
  } = options;
  const { quorum = 'w', databaseUrl, intervalMs = 50, issuers = ['broker.example'] } = options;
  const [log, witness] = [logKeyOf(origin), logKeyOf(witnessName, 'witness')];
  mkdirSync(join(folder, 'witness'), { recursive: true });
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const policyText = [
    `log ${noteKeyText(log.key)}${port === 0 ? '' : ` http://127.0.0.1:${port}`}`,
    `witness w ${noteKeyText(witness.key)} http://127.0.0.1:${witnessPort}`,
    `quorum ${quorum}`,
    '',
  ].join('\n');
  write('trust.policy', policyText);
  write('log.test-key', to0x(log.secret));
  write('witness/witness.test-key', to0x(witness.secret));
  const listed = issuers.map((name) => {
    const { publicKey, kinds } = issuerOf(name);
    return { name, publicKey: to0x(publicKey), kinds };
  });
  const shared = { logLevel: 'error', intervalMs };
  const logSettings = { ...shared, port, origin, key: 'log.test-key', witnesses: 'trust.policy', issuers: listed };
  return {
    logConfig: write('log.json', JSON.stringify({ ...logSettings, ...(databaseUrl && { databaseUrl }) })),
    witnessConfig: write(
      'witness/witness.json',
      JSON.stringify({ port: witnessPort, name: witnessName, key: 'witness.test-key', logs: '../trust.policy' }),
    ),
    policyFile: join(folder, 'trust.policy'),
    policy: parseTrustPolicy(policyText),
  };
}
