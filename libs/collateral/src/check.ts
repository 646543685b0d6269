/** Shallow looks at answers, so that an error page is never kept. What they say is judged by verification alone. */
import { failure } from './failure.js';

/** One DER SEQUENCE that fills the answer. */
export const isDer =
  (service: string) =>
  (body: Uint8Array): void => {
    const long = body[1]! >= 0x80 ? body[1]! & 0x7f : 0;
    let length = long === 0 ? body[1]! : 0;
    for (let i = 0; i < long; i++) length = length * 256 + (body[2 + i] ?? 0);
    if (body[0] !== 0x30 || long > 4 || length + 2 + long !== body.length)
      throw misread(service, 'one DER sequence', body);
  };

export const isPem =
  (service: string, count: number) =>
  (body: Uint8Array): void => {
    const blocks = text(body).match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)?.length ?? 0;
    if (blocks !== count) throw misread(service, `${count} PEM certificates`, body);
  };

export function text(body: Uint8Array): string {
  return new TextDecoder().decode(body);
}

export function misread(service: string, expected: string, body: Uint8Array): Error {
  const got = `${body.length} bytes: ${JSON.stringify(text(body.subarray(0, 40)))}`;
  return failure('COLLATERAL_FORMAT', expected, got, service, 'try again later, or use another mirror');
}
