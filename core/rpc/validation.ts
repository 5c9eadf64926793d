// The interceptor that holds every request to the rules of the contract.
import { createRegistry } from '@bufbuild/protobuf';
import { createValidator } from '@bufbuild/protovalidate';
import type { Interceptor } from '@connectrpc/connect';
import { createValidateInterceptor } from '@connectrpc/validate';
import { file_hub_validate_v1_rules } from '../../gen/hub/validate/v1/rules_pb.ts';
import { createPlainRules } from './plain-rules.ts';

/** Refuses with InvalidArgument and buf.validate.Violations, every violation at once. */
export function createValidationInterceptor(): Interceptor {
  const validator = createValidator({
    registry: createRegistry(file_hub_validate_v1_rules),
    regexMatch: matchNatively,
  });
  const certainlyKeeps = createPlainRules(file_hub_validate_v1_rules);
  const validate = createValidateInterceptor({ validator });
  return (next) => {
    const validateFirst = validate(next);
    return (request) =>
      !request.stream && certainlyKeeps(request.method.input, request.message)
        ? next(request)
        : validateFirst(request);
  };
}

const compiled = new Map<string, RegExp>();

/** The rules use what RE2 and JavaScript read the same way, and no pattern of theirs can backtrack for long. */
function matchNatively(pattern: string, text: string): boolean {
  let regExp = compiled.get(pattern);
  if (regExp === undefined) {
    regExp = new RegExp(pattern, 'u');
    compiled.set(pattern, regExp);
  }
  return regExp.test(text);
}
