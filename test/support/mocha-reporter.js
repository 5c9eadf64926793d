// A mocha reporter that prints like spec and writes a JSON summary to the file in MOCHA_SUMMARY.
import { writeFileSync } from 'node:fs';
import Mocha from 'mocha';

const FILE = process.env.MOCHA_SUMMARY;

// biome-ignore lint/style/noDefaultExport: mocha takes a reporter from the default export
export default class Reporter extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const failedFiles = new Set();
    const errors = [];
    runner.on('fail', (test, error) => {
      failedFiles.add(test.file);
      errors.push(shorten(`${test.fullTitle()}: ${error?.message ?? error}`.replaceAll(/\s+/g, ' ')));
    });
    runner.once('end', () => {
      const { passes, failures, pending } = this.stats;
      const summary = { passes, failures, pending, failedFiles: [...failedFiles], errors };
      if (FILE) writeFileSync(FILE, JSON.stringify(summary));
    });
  }
}

/** Keeps the start and the end: the message about a failed property ends with its cause. */
function shorten(text) {
  return text.length <= 1_000 ? text : `${text.slice(0, 500)} … ${text.slice(-500)}`;
}
