// All suites but those of whole systems: npm test.
const system = require('./.mocharc.system.cjs');

module.exports = {
  ...require('./.mocharc.cjs'),
  // The folders with the longest suites first, so that the run does not end with one of them.
  spec: ['test/{docs,cli,faults}/**/*.test.ts', 'test/!(docs|cli|faults)/**/*.test.ts'],
  ignore: system.spec,
};
