// The suites of whole systems: npm run test:system. They need as much time as all other tests together.
module.exports = {
  ...require('./.mocharc.cjs'),
  spec: [
    // Hubs under load while a server fails, restarts or has little memory. The other faults are part of npm test.
    'test/faults/@(disk|failover|pooler|rolling-restart|servers|soak).test.ts',
    'test/faults/patroni/*.test.ts',
    'test/cli/output/flat-memory.test.ts',
    'test/cli/serve/@(two-cores|workers).test.ts',
    // Every command of the documentation, of the demo and of the files for deployments.
    'test/docs/commands-in-*.test.ts',
    'test/docs/operations/*.test.ts',
    'test/cli/demo/*.test.ts',
    'test/deploy/*.test.ts',
    // The console in a browser.
    'test/console/*.test.ts',
    // The benchmark's parts, and the plans of all statements on a large database.
    'test/bench/**/*.test.ts',
  ],
};
