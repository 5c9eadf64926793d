// The types that describe a route in the OpenAPI document, which `npm run gen` builds from them and the
// contract.
import type { DescMethod } from '@bufbuild/protobuf';
import type { ProblemCode } from '../problem.ts';

/** A schema of JSON Schema 2020-12. A schema with a `title` becomes a component of that name. */
export type JsonSchema = { readonly [keyword: string]: unknown };

export type Tag = 'Licenses' | 'Keys and limits' | 'Orders' | 'Payment callbacks' | 'Health' | 'Reference';

export type Operation = {
  /** Operation id for generated clients: unique, in lowerCamelCase. */
  readonly id: string;
  readonly tag: Tag;
  readonly summary: string;
  /** Markdown. Default: the comment of the RPC. */
  readonly description?: string;
  /** The RPC behind the route. Its request fields are the parameters or the members of the body. */
  readonly rpc?: DescMethod;
  /** The proto name of the request field that the Authorization header carries, as a bearer token. */
  readonly bearer?: string;
  readonly response: ResponseShape;
  /** Problems specific to this operation, besides those of any request and any body. */
  readonly problems: readonly ProblemCode[];
};

export type ResponseShape = {
  /** Description of the response with status 200. */
  readonly description: string;
  /** Default: `application/json`. */
  readonly contentType?: string;
  /**
   * Schema of a text response, or of a JSON response with other members than the RPC's. Without it the
   * response is a JSON object with all fields of the RPC's response; `members` adds members or replaces fields.
   */
  readonly schema?: JsonSchema;
  readonly members?: { readonly [name: string]: JsonSchema };
  /** Members that may be absent. */
  readonly optional?: readonly string[];
  /** Whether the response has an entity tag and may be cached (see `tagged`). */
  readonly tagged?: boolean;
};

/** One operation per provider: its driver defines the method, the fields and the response. */
export type CallbackOperation = {
  readonly tag: Tag;
  readonly rpc: DescMethod;
  readonly problems: readonly ProblemCode[];
};

/** A route that is not in the document, and the reason. */
export type Unlisted = { readonly unlisted: string };

export type About = Operation | CallbackOperation | Unlisted;
