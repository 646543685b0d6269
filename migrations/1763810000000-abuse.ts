/** Keys that end, the audit log as a chain, data sets that are deleted, and pauses between the leases of a job. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Abuse1763810000000 implements MigrationInterface {
  readonly name = 'Abuse1763810000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "api_key" ADD "expires_at" TIMESTAMP WITH TIME ZONE`);
    await runner.query(`ALTER TABLE "api_key" ADD "last_used_at" TIMESTAMP WITH TIME ZONE`);
    await runner.query(`ALTER TABLE "audit_log" ADD "n" bigint`);
    await runner.query(`ALTER TABLE "audit_log" ADD "prev" text`);
    await runner.query(`CREATE INDEX "IDX_audit_n" ON "audit_log" ("n")`);
    await runner.query(`CREATE INDEX "IDX_audit_unchained" ON "audit_log" ("id") WHERE n IS NULL`);
    await runner.query(
      `CREATE TABLE "audit_head" ("id" integer NOT NULL, "n" bigint NOT NULL, "digest" text, "before_id" bigint NOT NULL, CONSTRAINT "PK_audit_head" PRIMARY KEY ("id"))`,
    );
    await runner.query(
      `INSERT INTO "audit_head" ("id", "n", "before_id") SELECT 1, 0, COALESCE(max("id"), 0) FROM "audit_log"`,
    );
    await runner.query(`ALTER TABLE "dataset" ADD "deleted_at" TIMESTAMP WITH TIME ZONE`);
    await runner.query(`ALTER TABLE "job" ADD "setbacks" integer NOT NULL DEFAULT 0`);
    await runner.query(`ALTER TABLE "job" ADD "not_before" TIMESTAMP WITH TIME ZONE`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "job" DROP COLUMN "not_before"`);
    await runner.query(`ALTER TABLE "job" DROP COLUMN "setbacks"`);
    await runner.query(`ALTER TABLE "dataset" DROP COLUMN "deleted_at"`);
    await runner.query(`DROP TABLE "audit_head"`);
    await runner.query(`DROP INDEX "IDX_audit_unchained"`);
    await runner.query(`DROP INDEX "IDX_audit_n"`);
    await runner.query(`ALTER TABLE "audit_log" DROP COLUMN "prev"`);
    await runner.query(`ALTER TABLE "audit_log" DROP COLUMN "n"`);
    await runner.query(`ALTER TABLE "api_key" DROP COLUMN "last_used_at"`);
    await runner.query(`ALTER TABLE "api_key" DROP COLUMN "expires_at"`);
  }
}
