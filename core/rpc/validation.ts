// The interceptor that holds every request to the rules of the contract.
import { createRegistry } from '@bufbuild/protobuf';
import type { Interceptor } from '@connectrpc/connect';
import { file_hub_validate_v1_rules } from '../../gen/hub/validate/v1/rules_pb.ts';
import { createPlainRules } from './plain-rules.ts';

/** Refuses with InvalidArgument and buf.validate.Violations, every violation at once. */
export function createValidationInterceptor(): Interceptor {
  const certainlyKeeps = createPlainRules(file_hub_validate_v1_rules);
  let validator: Promise<Interceptor> | undefined;
  const validate = async (next: Next, request: Request) => {
    validator ??= loadValidator().catch((error) => {
      validator = undefined;
      throw error;
    });
    return (await validator)(next)(request);
  };
  return (next) => (request) =>
    !request.stream && certainlyKeeps(request.method.input, request.message)
      ? next(request)
      : validate(next, request);
}

type Next = Parameters<Interceptor>[0];
type Request = Parameters<Next>[0];

/** Several MB, for the few requests that are not certainly good. */
async function loadValidator(): Promise<Interceptor> {
  const [{ createValidator }, { createValidateInterceptor }] = await Promise.all([
    import('@bufbuild/protovalidate'),
    import('@connectrpc/validate'),
  ]);
  const registry = createRegistry(file_hub_validate_v1_rules);
  return createValidateInterceptor({
    validator: createValidator({ registry, regexMatch: matchNatively }),
  });
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
