// Runs the commands of the pages for operations.
import { followPages } from './follow-pages.ts';

describe('the commands', () => {
  followPages((path) => path.startsWith('docs/operations/'));
});
