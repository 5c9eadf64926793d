// Runs the commands of the how-to pages.
import { followPages } from './follow-pages.ts';

describe('the commands', () => {
  followPages((path) => path.startsWith('docs/how-to/'));
});
