/** Waiting jobs by what they ask of a node, so that a look into the queue skips what a node cannot take. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class QueueClasses1763795000000 implements MigrationInterface {
  readonly name = 'QueueClasses1763795000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE INDEX "IDX_job_waiting_class" ON "job" ("provider", "assurance", "requirements", "priority", "rank", "seq") WHERE "state" = 'submitted' AND "funded"`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX "IDX_job_waiting_class"`);
  }
}
