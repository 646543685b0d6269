/** Origins whose pages may ask the API with a key of their own; the console's cookie is never among what they may send. */
import { invalid } from './config-error.js';

const originsMax = 64;

/** @param setting  origins with commas @throws ConfigurationError CONFIG_CORS */
export function readCorsOrigins(setting: string | undefined): readonly string[] {
  if (setting === undefined) return [];
  const origins = setting.split(',').map((part) => part.trim());
  const wrong = origins.find((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin);
  if (wrong === undefined && origins.length <= originsMax) return origins;
  const expected = `VERITRAIN_CORS_ORIGINS as at most ${originsMax} origins (https://app.example.org) with commas`;
  throw invalid('CONFIG_CORS', expected, wrong?.slice(0, 80) ?? `${origins.length} of them`);
}
