// Starts the OpenTelemetry SDK, configured by its standard variables. Loaded only if traces are exported.
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { context, DiagLogLevel, diag, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { Logger } from 'pino';
import { throttle } from '../net/throttle-log.ts';
import { createContextManager } from './context-manager.ts';
import { switchTracing } from './spans.ts';

export type Tracing = {
  /** Ends tracing and exports the rest. Resolves within `graceMs` with whether the collector accepted it. */
  stop(graceMs: number): Promise<boolean>;
};

export type TracingOptions = {
  readonly version: string;
  readonly role: string;
  readonly logger: Pick<Logger, 'warn'>;
};

/** The only protocol of the exporter, and the default of the standard. */
const PROTOCOL = 'http/protobuf';
/** The least time between two warnings about the same trouble. */
const QUIET_MS = 60_000;

export function startTracing({ version, role, logger }: TracingOptions): Tracing {
  const warn = (reason: string): void =>
    logger.warn({ reason }, 'an OpenTelemetry variable is not supported');
  logWarnings(warn);
  const { OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: own, OTEL_EXPORTER_OTLP_PROTOCOL: protocol } = process.env;
  if (![own, protocol].every((each = '') => each === '' || each === PROTOCOL)) {
    warn(`the hub supports only ${PROTOCOL}, which collectors accept on port 4318`);
  }
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(
        resourceFromAttributes({
          'service.name': 'hub',
          'service.version': version,
          'service.instance.id': randomUUID(),
          'hub.role': role,
        }),
      )
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(loggingFailures(new OTLPTraceExporter(), logger))],
  });
  // From here on the SDK only warns of spans that it drops.
  logWarnings(throttle(QUIET_MS, (reason) => logger.warn({ reason }, 'some traces were lost')));
  context.setGlobalContextManager(createContextManager());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  switchTracing(true);
  return {
    async stop(graceMs) {
      switchTracing(false);
      trace.disable();
      propagation.disable();
      context.disable();
      const exported = provider.shutdown().then(
        () => true,
        () => false,
      );
      return Promise.race([exported, setTimeout(graceMs, false, { ref: false })]);
    },
  };
}

/** Logs the warnings of the SDK. Its errors are those of the exporter, which `loggingFailures` logs. */
function logWarnings(warn: (message: string) => void): void {
  const silent = (): void => {};
  diag.setLogger(
    { error: silent, warn, info: silent, debug: silent, verbose: silent },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

/** Adds a throttled warning to an exporter for when the collector does not accept spans. */
function loggingFailures(exporter: SpanExporter, logger: TracingOptions['logger']): SpanExporter {
  const warn = throttle(QUIET_MS, (reason: string | undefined) =>
    logger.warn({ reason }, 'the collector does not accept traces'),
  );
  return {
    export: (spans, done) =>
      // Outside of any request: the log line must not name the trace of the one that triggered the export.
      context.with(ROOT_CONTEXT, () =>
        exporter.export(spans, (result) => {
          if (result.error !== undefined) warn(result.error.message);
          done(result);
        }),
      ),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}
