// The interceptor that validates every request by the rules of the contract.
import { createRegistry } from '@bufbuild/protobuf';
import type { Interceptor } from '@connectrpc/connect';
import { file_hub_validate_v1_rules } from '../../../gen/hub/validate/v1/rules_pb.ts';
import { createFastValidation } from './fast-validation.ts';

/** Fails with InvalidArgument and buf.validate.Violations, which lists every violation. */
export function createValidationInterceptor(): Interceptor {
  const isCertainlyValid = createFastValidation(file_hub_validate_v1_rules);
  let validator: Promise<Interceptor> | undefined;
  const validate = async (next: Next, request: Request) => {
    validator ??= loadValidator().catch((error) => {
      validator = undefined;
      throw error;
    });
    return (await validator)(next)(request);
  };
  return (next) => (request) =>
    !request.stream && isCertainlyValid(request.method.input, request.message)
      ? next(request)
      : validate(next, request);
}

type Next = Parameters<Interceptor>[0];
type Request = Parameters<Next>[0];

/** Loaded on demand: it takes several MB, and few requests need it. */
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

/** RE2 and JavaScript read the patterns of the rules the same way, and none of them backtracks for long. */
function matchNatively(pattern: string, text: string): boolean {
  let regExp = compiled.get(pattern);
  if (regExp === undefined) {
    regExp = new RegExp(pattern, 'u');
    compiled.set(pattern, regExp);
  }
  return regExp.test(text);
}
