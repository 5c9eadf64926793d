// Runs the commands of the how-to pages.
import { followPages } from './follow-pages.ts';

describe('the commands', function () {
  this.timeout(60_000); // the demo starts
  followPages((path) => path.startsWith('docs/how-to/'));
});
