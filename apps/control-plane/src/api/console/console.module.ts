/** The console: its files, and signing in to it. What its pages ask is REST, as for everybody. */
import { Module } from '@nestjs/common';
import { ConsoleFiles } from './console-files.js';
import { PagesController } from './pages.controller.js';
import { SessionController } from './session.controller.js';

@Module({ providers: [ConsoleFiles], controllers: [SessionController, PagesController] })
export class ConsoleModule {}
