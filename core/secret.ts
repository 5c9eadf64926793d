// A value that no log, error or JSON can show by accident: what is to be kept out of them is said by its type.
import { inspect } from 'node:util';

const SHOWN = '[secret]';

/** Printed, put into text, inspected or written as JSON it is `[secret]`. Only `reveal` gives the value. */
export class Secret<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return SHOWN;
  }

  toJSON(): string {
    return SHOWN;
  }

  [inspect.custom](): string {
    return SHOWN;
  }
}
