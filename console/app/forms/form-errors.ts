// Finds the fields of a form that the hub refused, and the reasons.
import { ViolationsSchema } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { ConnectError } from '@connectrpc/connect';
import { ErrorDetailSchema } from '../../../gen/hub/error/v1/error_pb.ts';
import { explain, sentence } from '../explain-error.ts';

/** A value that the form itself refuses. */
export class FieldError extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

export type FormErrors = {
  /** The messages by the name of the field. */
  readonly fields: ReadonlyMap<string, string>;
  /** The message that belongs to no field of the form; empty if there is none. */
  readonly general: string;
  /** The code of `hub.error.v1.ErrorDetail`; empty without one. */
  readonly code: string;
};

export const NO_ERRORS: FormErrors = { fields: new Map(), general: '', code: '' };

/** @param names the fields of the form, named as those of the request in lowerCamelCase */
export function readFormErrors(error: unknown, names: readonly string[]): FormErrors {
  if (error instanceof FieldError) {
    return { ...NO_ERRORS, fields: new Map([[error.field, error.message]]) };
  }
  const refusal = ConnectError.from(error);
  const [detail] = refusal.findDetails(ErrorDetailSchema);
  const code = detail?.code ?? '';
  const found = detail ? fieldOf(detail.field.split('.'), names) : undefined;
  if (found !== undefined) {
    return { fields: new Map([[found, sentence(refusal.rawMessage)]]), general: '', code };
  }
  const fields = new Map<string, string>();
  let hasOthers = false;
  for (const { message, field } of refusal.findDetails(ViolationsSchema).flatMap((it) => it.violations)) {
    const elements = field?.elements ?? [];
    const name = fieldOf(
      elements.map(({ fieldName }) => camelCase(fieldName)),
      names,
    );
    const [key] = elements.flatMap(({ subscript }) =>
      subscript.case === 'stringKey' ? subscript.value : [],
    );
    if (name === undefined) hasOthers = true;
    else if (!fields.has(name))
      fields.set(name, sentence(key === undefined ? message : `“${key}” ${message}`));
  }
  return { fields, general: fields.size > 0 && !hasOthers ? '' : explain(error), code };
}

/** The first part of a path that is a field of the form. */
function fieldOf(path: readonly string[], names: readonly string[]): string | undefined {
  return path.find((part) => names.includes(part));
}

function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
