/** Jobs may start from weights that their clients bring: blobs that the job names. Jobs of before have none. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class StartWeights1763820000000 implements MigrationInterface {
  readonly name = 'StartWeights1763820000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "job" ADD "start_blobs" text array`);
    await runner.query(`CREATE INDEX "IDX_job_start" ON "job" ("id") WHERE "start_blobs" IS NOT NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX "IDX_job_start"`);
    await runner.query(`ALTER TABLE "job" DROP COLUMN "start_blobs"`);
  }
}
