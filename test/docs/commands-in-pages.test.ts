// Runs the commands of all other pages.
import { followPages } from './follow-pages.ts';

describe('the commands', function () {
  this.timeout(60_000); // the demo starts
  followPages((path) => !/^docs\/(how-to|operations)\//.test(path));
});
