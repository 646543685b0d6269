/** The newest leases of a node, for whoever looks at its evidence. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class LeaseNode1763860000000 implements MigrationInterface {
  readonly name = 'LeaseNode1763860000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`CREATE INDEX "IDX_lease_node" ON "lease" ("node_id", "acquired_at")`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX "IDX_lease_node"`);
  }
}
