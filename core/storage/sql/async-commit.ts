// Writes that may be lost in a crash of the server, so that the caller does not wait for the disk.

/**
 * SQL to join to the rows that an `update` outside of a transaction changes: it makes that commit
 * asynchronous (`synchronous_commit = off`). Use it only where a lost write costs no more than repeating it.
 * A write is never lost if a durable commit came after it.
 */
export const ASYNC_COMMIT = `(select set_config('synchronous_commit', 'off', true)) as async_commit`;
