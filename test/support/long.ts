// Long forms of tests: `HUB_TEST_LONG=1` runs them.

export const IS_LONG = process.env['HUB_TEST_LONG'] === '1';
