// Rewrites the messages of protovalidate for readers: it has no singular, and says "at least 1" for "not
// empty".
import type { Validator } from '@bufbuild/protovalidate';

/**
 * Returns a validator with readable messages.
 *
 * @param ValidationError the class of that name of protovalidate
 */
export function withPlainMessages(
  validator: Validator,
  ValidationError: typeof import('@bufbuild/protovalidate').ValidationError,
): Validator {
  return {
    validate(schema, message) {
      const result = validator.validate(schema, message);
      if (result.kind !== 'invalid') return result;
      for (const violation of result.violations) violation.message = plainMessage(violation.message);
      // The message of the error contains that of the first violation.
      return { ...result, error: new ValidationError(result.violations) };
    },
  };
}

/** `must be at least 1 characters` becomes `must not be empty`, `1 item(s)` becomes `1 item`. */
export function plainMessage(message: string): string {
  return message
    .replace(
      /^(map )?must (be|contain) at least 1 (characters|bytes|entries|item\(s\))$/,
      'must not be empty',
    )
    .replace(/^map must be (at (?:least|most)) /, 'must have $1 ')
    .replace('(s)', 's')
    .replace(/\b1 (character|byte|item)s$/, '1 $1')
    .replace(/\b1 entries$/, '1 entry');
}
