// Whether tracing is on, by the standard variables of OpenTelemetry, without loading the SDK.

/** An exporter is configured, and tracing is not disabled. */
export function isTracingEnabled(environment: Readonly<Record<string, string | undefined>>): boolean {
  const {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own = endpoint,
    OTEL_SDK_DISABLED: disabled = '',
    OTEL_TRACES_EXPORTER: exporter = 'otlp',
  } = environment;
  return (
    Boolean(own || endpoint) && disabled.toLowerCase() !== 'true' && exporter.split(',').includes('otlp')
  );
}
