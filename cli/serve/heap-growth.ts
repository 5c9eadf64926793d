// Sets when V8 starts a major garbage collection.
import { setFlagsFromString } from 'node:v8';

/**
 * Lets the heap grow to twice its size after a major collection before V8 starts the next one. By default, V8
 * starts one after a few MB of growth if the hub had few requests before. So it started in the first seconds of a
 * burst, and requests waited for it: test/bench/slow-requests.md#after-a-pause. V8 reads this flag at each
 * collection, so it applies to a running process.
 */
export function delayMajorCollections(): void {
  setFlagsFromString('--heap-growing-percent=100');
}
