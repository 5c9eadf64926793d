// Writes that may be lost in a crash of the server, so that the caller does not wait for the disk.

/**
 * A subquery for the FROM clause of an `update` that is a transaction of its own. It makes the commit
 * asynchronous (`synchronous_commit = off`). Use it only where a lost write costs no more than repeating it.
 * A write is never lost if a durable commit came after it.
 */
export const ASYNC_COMMIT = `(select set_config('synchronous_commit', 'off', true)) as async_commit`;
