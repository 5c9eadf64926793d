// The headers that keep browsers from making anything of an answer but data; and for the one page, but that page.

/** On every other answer, errors of the parser included: name, value, name, value, … */
export const SECURITY_HEADERS: readonly string[] = headersFor("default-src 'none'; frame-ancestors 'none'");

/** Script, style and requests from the hub itself and from nowhere else; pictures from the style. Nothing inline. */
export const PAGE_SECURITY_HEADERS: readonly string[] = headersFor(
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

function headersFor(contentSecurityPolicy: string): string[] {
  return [
    'X-Content-Type-Options',
    'nosniff',
    'Content-Security-Policy',
    contentSecurityPolicy,
    'Cross-Origin-Resource-Policy',
    'same-origin',
    'Referrer-Policy',
    'no-referrer',
  ];
}
