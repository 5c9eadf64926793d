// The suites of whole systems: npm run test:system. They need as much time as all other tests together.
module.exports = {
  ...require('./.mocharc.cjs'),
  // The longest files first, so that the run does not end with one of them.
  spec: [
    // The benchmark's parts, and the plans of all statements on a large database.
    'test/bench/**/*.test.ts',
    // Pages in a browser.
    'test/console/*.test.ts',
    'test/gateway/pages/purchase.test.ts',
    'test/gateway/routes/reference-page.test.ts',
    'test/cli/simulator/pages/checkout-page.test.ts',
    'test/client/browser.test.ts',
    // The commands, programs and alerts of the documentation, the demo, and the files for deployments.
    'test/docs/commands-in-*.test.ts',
    'test/docs/@(adding-a-gateway|operations|rpc|scripting).test.ts',
    'test/docs/operations/*.test.ts',
    'test/cli/demo/*.test.ts',
    'test/deploy/*.test.ts',
    // Hubs under load while a server fails, restarts or has little memory. npm test has a killed hub, and the models.
    'test/faults/@(disk|failover|pooler|rolling-restart|servers|soak).test.ts',
    'test/faults/patroni/*.test.ts',
    'test/core/storage/redis/redis-servers.test.ts',
    'test/cli/output/flat-memory.test.ts',
    'test/cli/serve/@(two-cores|workers).test.ts',
    // Floods, and programs that are killed at one point after another.
    'test/**/callback-flood.test.ts',
    'test/faults/crash-points.test.ts',
    'test/attacks/killed-*.test.ts',
    'test/attacks/restore-lost-commit.test.ts',
    'test/cli/backup/interrupted-restore.test.ts',
    // The packages and the contract as users install and compile them.
    'test/client/package.test.ts',
    'test/core/contract/module.test.ts',
    'test/scripts/release/installed.test.ts',
    'test/cli/checkout-bundle.test.ts',
  ],
};
