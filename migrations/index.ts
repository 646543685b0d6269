/** Every migration, oldest first. A released migration never changes. */
import type { MigrationInterface } from 'typeorm';
import { Initial1763722800000 } from './1763722800000-initial.js';

export const migrations: (new () => MigrationInterface)[] = [Initial1763722800000];
