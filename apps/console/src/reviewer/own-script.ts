/** The digest of the script that runs, as the policy of this very page names it. */
export function scriptSha256(): string | null {
  const policy = document.querySelector('meta[http-equiv="Content-Security-Policy"]')?.getAttribute('content') ?? '';
  const [, base64] = /script-src 'sha256-([A-Za-z0-9+/=]{44})'/.exec(policy) ?? [];
  if (base64 === undefined) return null;
  return Array.from(atob(base64), (letter) => letter.charCodeAt(0).toString(16).padStart(2, '0')).join('');
}
