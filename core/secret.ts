// A value that logs, errors and JSON do not show by accident.
import { inspect } from 'node:util';

const SHOWN = '[secret]';

/** As text, JSON or inspected it is `[secret]`. Only `reveal` returns the value. */
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
