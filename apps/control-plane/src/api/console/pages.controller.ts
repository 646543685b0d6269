/** The pages of the console: one shell for every path, and the files that it names by their digest. */
import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Public } from '../../core/auth/principal.js';
import { Essential } from '../../core/overload/shedding.js';
import { refusal } from '../../core/problem/codes.js';
import { ConsoleFiles } from './console-files.js';

/**
 * Nothing of others, nothing inline, no markup made from text. Step proofs are verified by modules of WebAssembly that are
 * part of the script.
 */
const consolePolicy = [
  `default-src 'none'`,
  `script-src 'self' 'wasm-unsafe-eval'`,
  `style-src 'self'`,
  `img-src 'self' data:`,
  `connect-src 'self'`,
  `form-action 'self'`,
  `frame-ancestors 'none'`,
  `base-uri 'none'`,
  `require-trusted-types-for 'script'`,
  `trusted-types 'none'`,
].join('; ');

const headers = {
  'content-security-policy': consolePolicy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
};

@ApiExcludeController()
@Controller()
@Public()
@Essential()
export class PagesController {
  constructor(private readonly files: ConsoleFiles) {}

  /** Where to go from here. */
  @Get()
  root(@Req() request: Request, @Res() response: Response): void {
    if (request.accepts(['json', 'html']) === 'html') return response.redirect(303, '/console');
    response.json({ console: '/console', documentation: '/docs', openapi: '/openapi.json', graphql: '/graphql' });
  }

  @Get('console/assets/:name')
  asset(@Param('name') name: string, @Res() response: Response): void {
    const file = this.files.asset(name);
    if (file === undefined) throw refusal('ROUTE_UNKNOWN', unknownFile(name));
    response.set({ ...headers, 'cache-control': 'public, max-age=31536000, immutable' });
    response.type(file.type).send(file.bytes);
  }

  /** The offline file, to be kept beside bundles. */
  @Get('console/reviewer.html')
  reviewer(@Res() response: Response): void {
    if (this.files.reviewer === null) throw refusal('ROUTE_UNKNOWN', unknownFile('reviewer.html'));
    response.set({ ...headers, 'content-disposition': 'attachment; filename="veritrain-reviewer.html"' });
    response.type('html').send(this.files.reviewer);
  }

  @Get(['console', 'console/*path'])
  page(@Res() response: Response): void {
    response.set({ ...headers, 'cache-control': 'no-store' });
    response.type('html').send(this.files.page);
  }
}

function unknownFile(name: string) {
  return {
    expected: 'a file of the console',
    got: name.slice(0, 80),
    rule: 'apps/control-plane/README.md, console',
    action: 'Load the page again; run `npm run build` where it was not built.',
  };
}
