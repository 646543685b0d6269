/** Limits of single tenants, where they are not those of the settings. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class TenantLimits1763840000000 implements MigrationInterface {
  readonly name = 'TenantLimits1763840000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `CREATE TABLE "tenant_limit" ("tenant" text NOT NULL, "jobs_waiting_max" integer, "jobs_under_way_max" integer, "dataset_bytes_max" bigint, CONSTRAINT "PK_tenant_limit" PRIMARY KEY ("tenant"))`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP TABLE "tenant_limit"`);
  }
}
