// Writes that need not be on disk before the caller goes on.

/**
 * To be joined to the rows that an `update` outside of a transaction changes: its commit does not wait for the disk then
 * (PostgreSQL: asynchronous commit, which can be chosen for each transaction up to its end). For what may be lost with the
 * server's last moments, and costs nothing but a repetition then. It is never lost if anything that was committed
 * durably after it is there.
 */
export const UNHURRIED = `(select set_config('synchronous_commit', 'off', true)) as unhurried`;
