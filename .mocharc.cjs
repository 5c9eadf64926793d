// Options of all test runs.
module.exports = {
  extension: ['ts'],
  reporter: './test/support/mocha-reporter.js',
  require: ['test/support/global-setup.ts'],
  // Tests take seconds on an idle machine, and many times as long on a busy one.
  timeout: 180_000,
  slow: 1_000,
  parallel: true,
  jobs: 4,
};
