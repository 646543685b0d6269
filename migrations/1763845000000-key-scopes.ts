/** Keys that may do a part of what their role may. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class KeyScopes1763845000000 implements MigrationInterface {
  readonly name = 'KeyScopes1763845000000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "api_key" ADD "scopes" text array`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`ALTER TABLE "api_key" DROP COLUMN "scopes"`);
  }
}
