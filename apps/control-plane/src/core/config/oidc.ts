/** An identity provider (OpenID Connect) whose people may sign in to the console, and what each of them stands for there. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { Address, TenantName, roles, scopes, type Role, type Scope } from '#libs/wire';
import { invalid } from './config-error.js';

/** Whoever has all these claims stands for this. The first rule that fits counts; nobody else enters. */
export interface OidcRule {
  /** By name: the value itself, or one of a list. */
  readonly claims: Readonly<Record<string, string>>;
  /** null: of every tenant; administrators alone. */
  readonly tenant: string | null;
  readonly role: Role;
  /** Account that an operator's nodes are paid to. */
  readonly provider: string | null;
  /** null: all that the role may. */
  readonly scopes: readonly Scope[] | null;
}

export interface OidcConfig {
  readonly issuer: URL;
  readonly clientId: string;
  /** null: a public client, whose requests PKCE alone protects. */
  readonly clientSecret: string | null;
  /** With spaces; `openid` among them. */
  readonly scope: string;
  /** Where people open the console: an origin. */
  readonly consoleOrigin: string;
  readonly rules: readonly OidcRule[];
}

interface OidcEnvironment {
  readonly VERITRAIN_OIDC_ISSUER?: string | undefined;
  readonly VERITRAIN_OIDC_CLIENT_ID?: string | undefined;
  readonly VERITRAIN_OIDC_SECRET?: string | undefined;
  readonly VERITRAIN_OIDC_SCOPE?: string | undefined;
  readonly VERITRAIN_OIDC_RULES?: string | undefined;
  readonly VERITRAIN_CONSOLE_URL?: string | undefined;
}

const Rules = z
  .array(
    z
      .strictObject({
        claims: z
          .record(z.string().min(1).max(256), z.string().min(1).max(256))
          .refine((claims) => Object.keys(claims).length > 0, 'at least one claim'),
        tenant: TenantName.nullable().default(null),
        role: z.enum(roles),
        provider: Address.nullable().default(null),
        scopes: z.array(z.enum(scopes)).min(1).nullable().default(null),
      })
      .refine(({ role, tenant }) => role === 'admin' || tenant !== null, 'a tenant, but for administrators')
      .refine(
        ({ role, provider }) => (role === 'operator') === (provider !== null),
        'a provider for the role operator, and for it alone',
      ),
  )
  .min(1)
  .max(1000);

const loopback = /^(localhost|127(\.[0-9]{1,3}){3}|\[::1\])$/;

/** @throws ConfigurationError CONFIG_OIDC */
export function readOidc(env: OidcEnvironment): OidcConfig | null {
  const { VERITRAIN_OIDC_ISSUER: issuer, VERITRAIN_OIDC_CLIENT_ID: clientId, VERITRAIN_OIDC_RULES: rules } = env;
  const { VERITRAIN_OIDC_SECRET: secret, VERITRAIN_OIDC_SCOPE: scope, VERITRAIN_CONSOLE_URL: console } = env;
  const needed = [issuer, clientId, rules, console];
  if ([...needed, secret, scope].every((value) => value === undefined)) return null;
  if (issuer === undefined || clientId === undefined || rules === undefined || console === undefined) {
    const expected = 'all of VERITRAIN_OIDC_ISSUER, _CLIENT_ID and _RULES, and VERITRAIN_CONSOLE_URL';
    throw invalid('CONFIG_OIDC', expected, `${needed.filter((value) => value !== undefined).length} of the four`);
  }
  return {
    issuer: safeUrl('VERITRAIN_OIDC_ISSUER', issuer),
    clientId,
    clientSecret: secret === undefined ? null : secretIn(secret),
    scope: scopeOf(scope ?? 'openid'),
    consoleOrigin: originOf(console),
    rules: rulesIn(rules),
  };
}

/** Whoever reads what goes between them signs in as anybody: plain http stays on this machine. */
function safeUrl(name: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && loopback.test(url.hostname));
  if (url !== null && isSafe && url.username === '' && url.search === '' && url.hash === '') return url;
  throw invalid('CONFIG_OIDC', `${name} as an https address (http on this machine alone)`, text.slice(0, 80));
}

function originOf(text: string): string {
  const url = safeUrl('VERITRAIN_CONSOLE_URL', text);
  if (url.pathname === '/') return url.origin;
  throw invalid('CONFIG_OIDC', 'VERITRAIN_CONSOLE_URL without a path: https://console.example.org', text.slice(0, 80));
}

function scopeOf(text: string): string {
  if (text.split(' ').includes('openid') && /^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(text)) return text;
  throw invalid('CONFIG_OIDC', 'VERITRAIN_OIDC_SCOPE with openid, and spaces between', text.slice(0, 80));
}

function secretIn(path: string): string {
  const secret = read('VERITRAIN_OIDC_SECRET', path).trim();
  if (/^[\x20-\x7e]{8,512}$/.test(secret)) return secret;
  throw invalid('CONFIG_OIDC', 'VERITRAIN_OIDC_SECRET: a file with 8 to 512 characters', `${secret.length} characters`);
}

function rulesIn(path: string): readonly OidcRule[] {
  const text = read('VERITRAIN_OIDC_RULES', path);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw invalid('CONFIG_OIDC', 'VERITRAIN_OIDC_RULES: a file with JSON', text.slice(0, 40));
  }
  const parsed = Rules.safeParse(json);
  if (parsed.success) return parsed.data;
  const { path: where, message } = parsed.error.issues[0]!;
  throw invalid(
    'CONFIG_OIDC',
    'VERITRAIN_OIDC_RULES: a list of {claims, tenant, role, provider, scopes}',
    `${where.join('.')}: ${message}`,
  );
}

function read(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw invalid('CONFIG_OIDC', `${name}: a readable file`, (error as NodeJS.ErrnoException).code ?? 'an error');
  }
}
