// A reporter for mocha: spec, and the files of failed tests and hooks to the file that FAILED_FILES names, one a line.
import { appendFileSync } from 'node:fs';
import Mocha from 'mocha';

const FILE = process.env.FAILED_FILES;

// biome-ignore lint/style/noDefaultExport: mocha takes a reporter from the default export
export default class FailedFiles extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    runner.on('fail', ({ file }) => {
      if (FILE && file) appendFileSync(FILE, `${file}\n`);
    });
  }
}
