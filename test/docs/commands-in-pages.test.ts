// Runs the commands of all other pages.
import { followPages } from './follow-pages.ts';

describe('the commands', () => {
  followPages((path) => !/^docs\/(how-to|operations)\//.test(path));
});
