// Shows a problem to the browser of a customer.
import { PROBLEMS, type Problem } from '../problem.ts';
import type { RouteResponse } from '../routes/route.ts';
import { html, pageResponse } from './layout.ts';

/** The page for a problem, with its status and headers. The vendor finds the request in the log by its id. */
export function problemPage({ code, message, headers }: Problem, requestId: string): RouteResponse {
  const { status, title } = PROBLEMS[code];
  return pageResponse({
    title,
    status,
    headers,
    main: html`<h1>${title}</h1>
<p>${message}</p>
<p class="soft">Request ${requestId}</p>`,
  });
}
