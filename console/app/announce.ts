// What is said to those who do not see that something has changed.
import { createState } from './state.ts';

export const announcement = createState('');

/** Read out by screen readers, and shown for a while. */
export function announce(text: string): void {
  announcement.set('');
  // A text that is there already is not read again.
  setTimeout(() => announcement.set(text));
}
