// Security headers: those that make browsers treat responses as data, and those of pages.

/** Headers of every other response, including parser errors: name, value, name, value, … */
export const SECURITY_HEADERS: readonly string[] = headersFor("default-src 'none'; frame-ancestors 'none'");

/** Scripts, styles and requests only from the hub, images only from the style sheet, nothing inline. */
export const PAGE_SECURITY_HEADERS: readonly string[] = headersFor(
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

export function headersFor(contentSecurityPolicy: string, referrerPolicy = 'no-referrer'): string[] {
  return [
    ...['X-Content-Type-Options', 'nosniff'],
    ...['Content-Security-Policy', contentSecurityPolicy],
    ...['Cross-Origin-Resource-Policy', 'same-origin'],
    ...['Referrer-Policy', referrerPolicy],
  ];
}
