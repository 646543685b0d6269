/** How a node reaches dispatch: TCP, plain on this machine alone and mutual TLS elsewhere, or NATS. */
import { z } from 'zod';
import type { ConfigurationError } from '#attestation/base';
import { isLoopback, type NatsAddress } from '#libs/wire';

const Tcp = z.strictObject({
  host: z.string().min(1).max(253),
  port: z.int().min(1).max(65_535),
  /** PEM files: this node's key and certificate, and the authority of the control plane's. */
  tls: z.strictObject({ key: z.string(), cert: z.string(), ca: z.string() }).optional(),
});

const Nats = z.strictObject({
  nats: z
    .array(z.url({ protocol: /^(nats|tls)$/ }))
    .min(1)
    .max(16),
  /** File with the seed of this node's nkey, `SU…`. */
  nkey: z.string().optional(),
  /** PEM file of the authority of the server's certificate. */
  ca: z.string().optional(),
});

export const Dispatch = z.union([Tcp, z.array(Tcp).min(1).max(16), Nats]);

interface TcpAddress {
  readonly host: string;
  readonly port: number;
  /** Contents of PEM files; null: plain. */
  readonly tls: { readonly key: string; readonly cert: string; readonly ca: string } | null;
}

export type DispatchSettings =
  | { readonly kind: 'tcp'; readonly addresses: readonly TcpAddress[] }
  | { readonly kind: 'nats'; readonly nats: NatsAddress };

type Invalid = (expected: string, got: string, action: string) => ConfigurationError;

/**
 * @param read  gives the content of a file that the settings name
 * @throws what `invalid` makes: plain beyond this machine; what `read` throws
 */
export function readDispatch(
  dispatch: z.infer<typeof Dispatch>,
  read: (file: string) => string,
  invalid: Invalid,
): DispatchSettings {
  const plain = (where: string, what: string): ConfigurationError =>
    invalid(
      `${what}: messages beyond this machine carry an API key`,
      `plain messages to ${where}`,
      'name key, certificate and authority, or reach the control plane on this machine',
    );
  if ('nats' in dispatch) return { kind: 'nats', nats: natsAddress(dispatch, read, plain) };
  const addresses = (Array.isArray(dispatch) ? dispatch : [dispatch]).map(({ host, port, tls }): TcpAddress => {
    if (tls !== undefined) return { host, port, tls: { key: read(tls.key), cert: read(tls.cert), ca: read(tls.ca) } };
    if (!isLoopback(host)) throw plain(`${host}:${port}`, 'controlPlane.dispatch.tls');
    return { host, port, tls: null };
  });
  return { kind: 'tcp', addresses };
}

function natsAddress(
  { nats, nkey, ca }: z.infer<typeof Nats>,
  read: (file: string) => string,
  plain: (where: string, what: string) => ConfigurationError,
): NatsAddress {
  for (const url of nats) {
    const { protocol, hostname, host } = new URL(url);
    if (protocol === 'nats:' && !isLoopback(hostname)) throw plain(host, 'tls://');
  }
  return {
    urls: nats,
    seed: nkey === undefined ? null : read(nkey).trim(),
    ca: ca === undefined ? null : read(ca),
  };
}
