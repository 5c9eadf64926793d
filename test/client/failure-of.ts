// What a call of the client rejects with.
import { LicenseError } from '../../client/errors.ts';

export async function failureOf(call: Promise<unknown>): Promise<LicenseError> {
  const failure = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (failure instanceof LicenseError) return failure;
  throw failure ?? new Error('the call did not fail');
}
