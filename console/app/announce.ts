// Announcements for screen readers, also shown as a toast.
import { createState } from './observable-state.ts';

export const announcement = createState('');

/** Announces a text and shows it for a few seconds. */
export function announce(text: string): void {
  announcement.set('');
  // Screen readers do not repeat an unchanged text.
  setTimeout(() => announcement.set(text));
}
