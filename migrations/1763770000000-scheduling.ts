/** What scheduling looks at: priority, fair rank, requirements and price of a job; whether a node takes new ones. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Scheduling1763770000000 implements MigrationInterface {
  readonly name = 'Scheduling1763770000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "job" ADD "priority" integer NOT NULL DEFAULT 5`);
    await runner.query(`ALTER TABLE "job" ADD "rank" bigint NOT NULL DEFAULT 0`);
    await runner.query(`ALTER TABLE "job" ADD "requirements" jsonb NOT NULL DEFAULT '{}'`);
    await runner.query(`ALTER TABLE "job" ADD "price" numeric(78,0) NOT NULL DEFAULT 0`);
    await runner.query(
      `UPDATE "job" SET "rank" = "seq", "price" = ("terms" ->> 'price')::numeric WHERE "terms" ? 'price'`,
    );
    await runner.query(`ALTER TABLE "node" ADD "state" text NOT NULL DEFAULT 'ready'`);
    await runner.query(
      `CREATE INDEX "IDX_job_waiting" ON "job" ("priority", "rank", "seq") WHERE "state" = 'submitted' AND "funded"`,
    );
    await runner.query(`CREATE INDEX "IDX_job_waiting_tenant" ON "job" ("tenant", "rank") WHERE "state" = 'submitted'`);
    await runner.query(`CREATE INDEX "IDX_lease_refused" ON "lease" ("node_id") WHERE "state" = 'refused'`);
    await runner.query(`CREATE INDEX "IDX_lease_node_active" ON "lease" ("node_id") WHERE "state" = 'active'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX "IDX_lease_node_active"`);
    await runner.query(`DROP INDEX "IDX_lease_refused"`);
    await runner.query(`DROP INDEX "IDX_job_waiting_tenant"`);
    await runner.query(`DROP INDEX "IDX_job_waiting"`);
    await runner.query(`ALTER TABLE "node" DROP COLUMN "state"`);
    await runner.query(`ALTER TABLE "job" DROP COLUMN "price"`);
    await runner.query(`ALTER TABLE "job" DROP COLUMN "requirements"`);
    await runner.query(`ALTER TABLE "job" DROP COLUMN "rank"`);
    await runner.query(`ALTER TABLE "job" DROP COLUMN "priority"`);
  }
}
