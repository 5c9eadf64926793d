// The suites that .ci/run also runs on the oldest PostgreSQL, Debian's 15: npm run test:postgres.
//
// All tests use a role that owns its database and has no other privilege. The result of these files depends on the version
// of the server: privileges, LOCK TABLE, partitions, COPY, the catalog, roles. The others use plain statements, and would
// make the run too long.
module.exports = {
  ...require('./.mocharc.cjs'),
  spec: [
    // Migrations, pools, master keys (LOCK TABLE), partitions.
    'test/core/storage/database.test.ts',
    'test/core/storage/secrets/load-key-ring.test.ts',
    'test/core/storage/schema/migrate.test.ts',
    'test/core/storage/schema/partitions.test.ts',
    'test/core/storage/schema/schema-setting.test.ts',
    'test/core/storage/sql/transaction.test.ts',
    // Privileges on the audit log; a role that owns it and one that serves, with every change a hub can make.
    'test/core/audit/append-only.test.ts',
    'test/core/audit/chain.test.ts',
    'test/core/storage/schema/serving-role.test.ts',
    // DROP TABLE of months, and what the audit chain keeps of them.
    'test/core/retention/prune.test.ts',
    // COPY out and in, from one version to another.
    'test/core/backup/other-server.test.ts',
    'test/core/backup/restore-backup.test.ts',
    // Programs as operators run them: serve, migration apply, retention prune, backup create and restore, audit verify.
    'test/cli/serve/plain-owner.test.ts',
  ],
};
