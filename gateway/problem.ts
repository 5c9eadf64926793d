// The errors of the REST API: the table of codes, and their RFC 9457 documents.

/** Every error code with its HTTP status and title. Codes are never renamed or reused. */
export const PROBLEMS = {
  invalid_json: { status: 400, title: 'The body is not valid JSON' },
  invalid_request: { status: 400, title: 'The request is not valid' },
  callback_malformed: { status: 400, title: 'The callback is not well-formed' },
  seat_not_active: { status: 403, title: 'The machine has no active seat' },
  claim_invalid: { status: 403, title: 'The claim token is not valid' },
  not_found: { status: 404, title: 'No such resource' },
  gateway_unknown: { status: 404, title: 'Unknown gateway' },
  app_unknown: { status: 404, title: 'Unknown app' },
  license_key_unknown: { status: 404, title: 'Unknown license key' },
  license_unknown: { status: 404, title: 'Unknown license' },
  session_unknown: { status: 404, title: 'Unknown charge session' },
  limit_profile_unknown: { status: 404, title: 'Unknown limit profile' },
  seat_unknown: { status: 404, title: 'The machine never had a seat' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  request_timeout: { status: 408, title: 'The request took too long to arrive' },
  seat_limit_reached: { status: 409, title: 'All seats are taken' },
  license_expired: { status: 410, title: 'The license has expired' },
  license_revoked: { status: 410, title: 'The license has been revoked' },
  license_suspended: { status: 410, title: 'The license is suspended' },
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  rate_limited: { status: 429, title: 'Too many requests' },
  headers_too_large: { status: 431, title: 'The request headers are too large' },
  internal: { status: 500, title: 'Internal error' },
  overloaded: { status: 503, title: 'The service is overloaded' },
  unavailable: { status: 503, title: 'The service is not available' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

export const PROBLEM_TYPE = 'application/problem+json';

/** A field at fault, by its REST name, and how to correct it. */
export type FieldProblem = { readonly field: string; readonly detail: string };

export type ProblemMembers = {
  /** Seats the license allows (-1: unlimited) and seats active now. */
  seats?: { readonly limit: number; readonly used: number };
  errors?: readonly FieldProblem[];
};

type ProblemOptions = ProblemMembers & { headers?: readonly string[]; closes?: boolean; cause?: unknown };

/** A request error. `message` becomes `detail`, which the caller reads. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly members: ProblemMembers;
  /** Additional response headers: name, value, name, value, … */
  readonly headers: readonly string[];
  /** Closes the connection without reading the rest of the request. */
  readonly closes: boolean;

  constructor(code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    super(detail, { cause: options.cause });
    this.name = 'Problem';
    this.code = code;
    this.members = {
      ...(options.seats && { seats: options.seats }),
      ...(options.errors && { errors: options.errors }),
    };
    this.headers = options.headers ?? [];
    this.closes = options.closes ?? false;
  }
}

/** A Problem about one field, which is named in `detail` and in `errors`. */
export function fieldProblem(field: string, detail: string): Problem {
  return new Problem('invalid_request', `${field}: ${detail}`, { errors: [{ field, detail }] });
}

/** A Problem for a client that `what` says has asked too often. Rounds up to whole seconds, at least 1. */
export function rateLimited(what: string, forSeconds: number): Problem {
  const seconds = Math.max(1, Math.ceil(forSeconds));
  return new Problem('rate_limited', `${what} Try again in ${seconds} s.`, {
    headers: ['Retry-After', String(seconds)],
  });
}

/** Returns the RFC 9457 document. `type` is a URN, which does not suggest a web page. */
export function problemBody(problem: Problem, requestId: string): string {
  const { status, title } = PROBLEMS[problem.code];
  return JSON.stringify({
    type: `urn:hub:problem:${problem.code}`,
    title,
    status,
    detail: problem.message,
    instance: `urn:uuid:${requestId}`,
    ok: false,
    code: problem.code,
    ...problem.members,
  });
}

export function isProblemCode(text: string): text is ProblemCode {
  return Object.hasOwn(PROBLEMS, text);
}
