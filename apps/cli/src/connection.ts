/** How a command reaches a control plane: the client's profile, or an address and an API key of their own. */
import type { Command } from 'commander';
import { ConfigurationError } from '#attestation/base';
import { createApi, loadProfile, type ControlPlaneApi, type Profile } from '#libs/client/api';
import { readBytes } from '#libs/client/files';
import type { OutputOptions } from './output.js';

export interface ConnectionOptions extends OutputOptions {
  readonly profile?: string;
  readonly url?: string;
  readonly apiKey?: string;
}

export function addConnectionOptions(command: Command): Command {
  return command
    .option('--profile <file>', 'client profile; else VERITRAIN_PROFILE or the one of `veritrain up`')
    .option('--url <url>', 'control plane; else the profile’s')
    .option('--api-key <file>', 'file with an API key; else VERITRAIN_API_KEY, else the profile’s')
    .option('--json', 'print one JSON document');
}

/** The profile is read only for what the options and the environment leave out. @throws ConfigurationError */
export function apiOf(options: ConnectionOptions): ControlPlaneApi {
  const apiKey = options.apiKey === undefined ? process.env.VERITRAIN_API_KEY : readApiKey(options.apiKey);
  if (options.url !== undefined && apiKey !== undefined) return createApi(checkedUrl(options.url), apiKey);
  const { controlPlane } = profileOf(options);
  return createApi(checkedUrl(options.url ?? controlPlane.url), apiKey ?? controlPlane.apiKey);
}

/** Where no profile was named and there is none, an address and a key would do. */
function profileOf({ profile, url }: ConnectionOptions): Profile {
  try {
    return loadProfile(profile);
  } catch (error) {
    const named = profile ?? process.env.VERITRAIN_PROFILE;
    if (!(error instanceof ConfigurationError) || error.code !== 'FILE_UNREADABLE' || named !== undefined) throw error;
    throw new ConfigurationError(url === undefined ? 'PROFILE' : 'API_KEY_FILE', {
      expected: url === undefined ? 'a client profile, or --url and an API key' : `an API key for ${url}`,
      got: 'neither --api-key nor VERITRAIN_API_KEY, and no client profile of veritrain up in this folder',
      rule: 'how a command reaches a control plane',
      action: `name --api-key or set VERITRAIN_API_KEY${url === undefined ? ', and name --url; or name --profile' : ''}`,
    });
  }
}

/** @throws ConfigurationError FILE_UNREADABLE, API_KEY_FILE; never with the content */
function readApiKey(path: string): string {
  const text = new TextDecoder().decode(readBytes(path, 1024)).trim();
  if (/^vt_[A-Za-z0-9]{4,32}_[A-Za-z0-9_-]{16,128}$/.test(text)) return text;
  throw new ConfigurationError('API_KEY_FILE', {
    expected: `${path}: one API key, vt_…`,
    got: `${text.length} characters`,
    rule: '--api-key',
    action: 'write the key that `veritrain key create` printed to a file of its own, mode 600',
  });
}

function checkedUrl(url: string): string {
  if (/^https?:\/\/[^/]/.test(url) && URL.canParse(url)) return url.replace(/\/+$/, '');
  throw new ConfigurationError('URL', {
    expected: 'an address such as https://control.example:8080',
    got: url.slice(0, 200),
    rule: '--url',
  });
}
