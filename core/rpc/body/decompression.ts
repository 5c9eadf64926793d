// Decompresses requests, and rejects decompression bombs before they expand.
import { Code, ConnectError } from '@connectrpc/connect';
import type { Compression } from '@connectrpc/connect/protocol';
import { compressionBrotli, compressionGzip } from '@connectrpc/connect-node';

/** JSON of the contract shrinks to a tenth; gzip reaches 1:1000 and Brotli far more on bytes that repeat. */
const MAX_RATIO = 100;
/** Small messages may be repetitive. */
const FREE_BYTES = 64 * 1024;

/**
 * gzip and Brotli. Both inflate in a thread, 16 KiB at a time, and stop at the first chunk beyond the limit.
 */
export const COMPRESSIONS: readonly Compression[] = [compressionGzip, compressionBrotli].map(withMaxRatio);

function withMaxRatio(compression: Compression): Compression {
  return {
    ...compression,
    async decompress(bytes, maxBytes) {
      const most = Math.max(FREE_BYTES, bytes.length * MAX_RATIO);
      if (maxBytes <= most) return compression.decompress(bytes, maxBytes);
      try {
        return await compression.decompress(bytes, most);
      } catch (error) {
        if (ConnectError.from(error).code !== Code.ResourceExhausted) throw error;
        throw new ConnectError(
          `the message decompresses to more than ${MAX_RATIO} times its size; send it uncompressed`,
          Code.ResourceExhausted,
        );
      }
    },
  };
}
