// Limits on the messages and the deadline of an RPC.
import type { StreamLimits } from '../body/request-body.ts';

/** An issue of 1000 licenses with 64 limits each stays well below. */
export const MAX_MESSAGE_BYTES = 1024 * 1024;
/** For calls that need no token: they carry the name of a service. */
export const MAX_PUBLIC_MESSAGE_BYTES = 4 * 1024;
export const MAX_TIMEOUT_MS = 60_000;
/**
 * For RPCs whose request is a stream: an import of 100000 licenses, with 1 KB for each. Read piece by piece.
 */
export const UPLOAD_LIMITS: StreamLimits = {
  messages: 10_000,
  bytes: 128 * 1024 * 1024,
  unpackedBytes: 128 * 1024 * 1024,
};
