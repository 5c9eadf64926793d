// One example problem per code; a test compares them with real responses.
import { fieldProblem, Problem, type ProblemCode, problemBody, rateLimited } from '../problem.ts';
import { overloaded, unavailable } from '../rpc-problem.ts';

const REQUEST_ID = '639a204b-c281-4c11-bc4f-2f57d922bf50';

/** The whole problem document. */
export function problemExample(code: ProblemCode): unknown {
  const example = EXAMPLES[code];
  const problem = typeof example === 'string' ? new Problem(code, example) : example;
  return JSON.parse(problemBody(problem, REQUEST_ID));
}

/** A problem, or the detail of one without further members. */
const EXAMPLES: { readonly [code in ProblemCode]: Problem | string } = {
  invalid_json: 'The body is not valid JSON. It fails at character 1, counted from 0.',
  invalid_request: fieldProblem('machineFingerprint', 'is required and must not be empty'),
  callback_malformed: new Problem('callback_malformed', 'status: status is required and must not be empty', {
    errors: [{ field: 'status', detail: 'status is required and must not be empty' }],
  }),
  seat_not_active: 'this machine has no active seat on this license; activate it first',
  claim_invalid:
    'the claim token is not one of this session, or it has expired: it is valid until 7 days after the payment',
  not_found: 'There is nothing at this path.',
  gateway_unknown: 'unknown gateway',
  app_unknown: 'there is no app with this slug',
  session_unknown: 'there is no charge session with this id',
  license_key_unknown: 'no license has this key',
  license_unknown: 'there is no license with this id',
  limit_profile_unknown: 'the app "photo-lab" has no limit profile "free"',
  seat_unknown: 'this machine never had a seat on this license',
  method_not_allowed: 'Use POST here.',
  request_timeout: 'The body did not arrive within 10 seconds.',
  seat_limit_reached: new Problem(
    'seat_limit_reached',
    'every seat of this license is taken; release one first',
    { seats: { limit: 1, used: 1 } },
  ),
  license_expired: 'this license has expired',
  license_revoked: 'this license has been revoked',
  license_suspended: 'this license is suspended',
  body_too_large: 'A body may have at most 65536 bytes.',
  unsupported_media_type: 'Send the body with Content-Type: application/json.',
  rate_limited: rateLimited('Too many requests from this address.', 42),
  headers_too_large: 'The request line and headers may have at most 16 KiB and 100 fields.',
  internal: 'Internal error. An operator can find the cause in the log by the request id.',
  overloaded: overloaded(),
  unavailable: unavailable(undefined),
};
