/** The console: its files, and signing in to it. What its pages ask is REST, as for everybody. */
import { Module } from '@nestjs/common';
import { Attempts } from './attempts.js';
import { ConsoleFiles } from './console-files.js';
import { OidcController } from './oidc.controller.js';
import { PagesController } from './pages.controller.js';
import { SessionController } from './session.controller.js';

@Module({ providers: [Attempts, ConsoleFiles], controllers: [SessionController, OidcController, PagesController] })
export class ConsoleModule {}
