// Writes metric families in the text formats of Prometheus and OpenMetrics.
import { AggregatorRegistry, Registry, type RegistryContentType } from 'prom-client';
import type { Family } from './family.ts';

export type Exposition = { readonly contentType: string; readonly text: string };

/** Writes OpenMetrics if the `Accept` header prefers it, and the text format of Prometheus otherwise. */
export async function expose(families: readonly Family[], accept: string | undefined): Promise<Exposition> {
  const isOpenMetrics = prefersOpenMetrics(accept ?? '');
  const contentType = isOpenMetrics ? Registry.OPENMETRICS_CONTENT_TYPE : Registry.PROMETHEUS_CONTENT_TYPE;
  const written = isOpenMetrics ? families.map(withoutCounterSuffix) : families;
  const registry = AggregatorRegistry.aggregate<RegistryContentType>([written]);
  registry.setContentType(contentType);
  return { contentType, text: await registry.metrics() };
}

/** In OpenMetrics the name of a counter family has no `_total`; prom-client adds it to the samples. */
function withoutCounterSuffix(family: Family): Family {
  return family.type === 'counter' ? { ...family, name: family.name.replace(/_total$/, '') } : family;
}

const OPEN_METRICS = 'application/openmetrics-text';

/** Content negotiation (RFC 9110 section 12.5.1) between the two media types. */
function prefersOpenMetrics(accept: string): boolean {
  let openMetrics = 0;
  let plain = 0;
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const quality = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    if (type === OPEN_METRICS) openMetrics = Math.max(openMetrics, quality);
    else if (type === 'text/plain' || type === 'text/*' || type === '*/*') plain = Math.max(plain, quality);
  }
  return openMetrics > plain;
}
