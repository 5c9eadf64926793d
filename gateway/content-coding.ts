// Whether a client takes an answer compressed.

/** Reads Accept-Encoding (RFC 9110 section 12.5.3). A client that sends none is not asked to unpack anything. */
export function takesGzip(accepted = ''): boolean {
  const weights = new Map(accepted.toLowerCase().split(',').map(weightOf));
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0;
}

function weightOf(item: string): [coding: string, weight: number] {
  const [coding = '', ...parameters] = item.split(';').map((part) => part.trim());
  const weight = parameters.find((each) => each.startsWith('q='))?.slice('q='.length);
  return [coding, weight === undefined ? 1 : Number(weight)];
}
