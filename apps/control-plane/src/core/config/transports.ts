/** Over what nodes dial in: TCP, plain on the loopback interface alone and mutual TLS elsewhere, and NATS. */
import { readFileSync } from 'node:fs';
import { isLoopback, type NatsAddress } from '#libs/wire';
import { invalid } from './config-error.js';

/** Contents of PEM files. */
interface TlsFiles {
  readonly key: string;
  readonly cert: string;
  /** Authority of the nodes' certificates. */
  readonly ca: string;
}

export interface DispatchConfig {
  readonly host: string;
  readonly port: number;
  /** null: plain TCP, on the loopback interface. */
  readonly tls: TlsFiles | null;
}

interface DispatchEnvironment {
  readonly VERITRAIN_DISPATCH_HOST: string;
  readonly VERITRAIN_DISPATCH_PORT: number;
  readonly VERITRAIN_DISPATCH_TLS_KEY?: string | undefined;
  readonly VERITRAIN_DISPATCH_TLS_CERT?: string | undefined;
  readonly VERITRAIN_DISPATCH_TLS_CA?: string | undefined;
}

interface NatsEnvironment {
  readonly NATS_URL?: string | undefined;
  readonly VERITRAIN_NATS_NKEY?: string | undefined;
  readonly VERITRAIN_NATS_CA?: string | undefined;
}

/** @throws ConfigurationError CONFIG_TLS, CONFIG_PLAIN */
export function readDispatch(env: DispatchEnvironment): DispatchConfig {
  const { VERITRAIN_DISPATCH_HOST: host, VERITRAIN_DISPATCH_PORT: port } = env;
  const names = ['VERITRAIN_DISPATCH_TLS_KEY', 'VERITRAIN_DISPATCH_TLS_CERT', 'VERITRAIN_DISPATCH_TLS_CA'] as const;
  const given = names.filter((name) => env[name] !== undefined);
  if (given.length === 0) {
    if (isLoopback(host)) return { host, port, tls: null };
    throw invalid('CONFIG_PLAIN', `${names.join(', ')} where dispatch is not on the loopback interface`, host);
  }
  if (given.length < names.length) throw invalid('CONFIG_TLS', `all of ${names.join(', ')}`, given.join(', '));
  const [key, cert, ca] = names.map((name) => pem(name, env[name]!));
  return { host, port, tls: { key: key!, cert: cert!, ca: ca! } };
}

/** @throws ConfigurationError CONFIG_NATS, CONFIG_PLAIN, CONFIG_TLS */
export function readNats(env: NatsEnvironment): NatsAddress | null {
  if (env.NATS_URL === undefined) return null;
  const urls = env.NATS_URL.split(',').map((url) => url.trim());
  for (const url of urls) {
    const parsed = URL.canParse(url) ? new URL(url) : null;
    if (parsed === null || !['nats:', 'tls:'].includes(parsed.protocol) || parsed.username !== '') {
      throw invalid(
        'CONFIG_NATS',
        'NATS_URL as nats://HOST:PORT or tls://HOST:PORT, without credentials',
        '(not shown)',
      );
    }
    if (parsed.protocol === 'nats:' && !isLoopback(parsed.hostname)) {
      throw invalid('CONFIG_PLAIN', 'tls:// where NATS is not on the loopback interface', parsed.host);
    }
  }
  const { VERITRAIN_NATS_NKEY: seedFile, VERITRAIN_NATS_CA: caFile } = env;
  return {
    urls,
    seed: seedFile === undefined ? null : seedOf(seedFile),
    ca: caFile === undefined ? null : pem('VERITRAIN_NATS_CA', caFile),
  };
}

function seedOf(path: string): string {
  const seed = read('VERITRAIN_NATS_NKEY', path).trim();
  if (/^SU[A-Z2-7]{56}$/.test(seed)) return seed;
  throw invalid('CONFIG_NATS', 'VERITRAIN_NATS_NKEY: a file with the seed of an nkey user, SU…', 'another text');
}

function pem(name: string, path: string): string {
  const text = read(name, path);
  if (text.includes('-----BEGIN ')) return text;
  throw invalid('CONFIG_TLS', `${name}: a PEM file`, 'another file');
}

function read(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw invalid('CONFIG_TLS', `${name}: a readable file`, path.slice(0, 200));
  }
}
