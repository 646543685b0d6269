/** What is wrong with a request: codes, their status, and the check of everything that comes with a schema. */
import { Module } from '@nestjs/common';
import { APP_PIPE } from '@nestjs/core';
import { validationPipe } from './validation.js';

@Module({ providers: [{ provide: APP_PIPE, useValue: validationPipe }] })
export class ProblemModule {}
