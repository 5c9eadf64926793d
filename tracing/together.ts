// Work that is done for several requests at once belongs to the trace of the first, and is linked to the others.
import { active, isKept, type Place } from './active.ts';
import { batches } from './channels.ts';

/** Runs it for those who waited, each from its own place. */
export function together<T>(
  waiting: readonly { readonly place: Place | undefined }[],
  run: () => Promise<T>,
): Promise<T> {
  // Whoever happened to set this off is not whom it is for.
  if (!batches.hasSubscribers) return run();
  const places = waiting.flatMap(({ place }) => (place !== undefined && isKept(place) ? [place] : []));
  if (places.length > 0 && waiting.length > 1) {
    return active.run(places[0], () => batches.tracePromise(run, { size: waiting.length, places }));
  }
  return active.run(waiting[0]?.place, run);
}
