// Runs the commands of the pages for operations.
import { followPages } from './follow-pages.ts';

describe('the commands', function () {
  this.timeout(60_000); // the demo starts
  followPages((path) => path.startsWith('docs/operations/'));
});
