// A byte buffer that doubles when it is full, so that many small chunks cost no more than a few large ones.

const FIRST_BYTES = 1024;

export class GrowingBuffer {
  #bytes: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(FIRST_BYTES, length, 2 * this.#bytes.length));
      grown.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = grown;
    }
    this.#bytes.set(piece, this.#length);
    this.#length = length;
  }

  peekUint32(at: number): number {
    return new DataView(this.#bytes.buffer).getUint32(at);
  }

  /** Returns all bytes and empties the buffer. */
  take(): Uint8Array<ArrayBuffer> {
    const all = this.#bytes.subarray(0, this.#length);
    this.#bytes = new Uint8Array(0);
    this.#length = 0;
    return all;
  }
}
