// Whether traces are wanted: by the standard variables of OpenTelemetry, before anything of it is loaded.

type Environment = Readonly<Record<string, string | undefined>>;

/** That they go somewhere, and nobody has turned them off. */
export function tracesAreWanted(environment: Environment): boolean {
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
