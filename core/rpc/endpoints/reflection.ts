// The standard gRPC reflection service, v1 and v1alpha, from the descriptors in the generated code.
import {
  createRegistry,
  type DescFile,
  type DescService,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { Code, type ServiceImpl } from '@connectrpc/connect';
import * as v1 from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import * as v1alpha from '../../../gen/grpc/reflection/v1alpha/reflection_pb.ts';
import { type ServiceEntry, serve } from '../../service-implementation.ts';

export function createReflectionServices(described: readonly DescService[]): ServiceEntry[] {
  const services = [...described, v1.ServerReflection, v1alpha.ServerReflection];
  let answer: Answerer | undefined; // created at the first call, because most hubs get no reflection calls
  const implementation: ServiceImpl<typeof v1.ServerReflection> = {
    async *serverReflectionInfo(requests) {
      const sent = new Set<DescFile>();
      answer ??= createAnswerer(services);
      for await (const request of requests) {
        const { host: validHost, messageRequest } = request;
        yield { validHost, originalRequest: request, messageResponse: answer(messageRequest, sent) };
      }
    },
  };
  return [
    serve(v1.ServerReflection, implementation),
    // It differs from v1 by its package name only.
    serve(v1alpha.ServerReflection, implementation as never),
  ];
}

type Question = v1.ServerReflectionRequest['messageRequest'];
type Answer = NonNullable<MessageInitShape<typeof v1.ServerReflectionResponseSchema>['messageResponse']>;

/** Adds to `sent` the files that it returns, and leaves out those that the stream has sent before. */
type Answerer = (question: Question, sent: Set<DescFile>) => Answer;

function createAnswerer(services: readonly DescService[]): Answerer {
  const names = services.map((service) => service.typeName).sort();
  const files = new Map(
    services.flatMap((service) => withDependencies(service.file)).map((file) => [file.proto.name, file]),
  );
  const registry = createRegistry(...files.values());

  const fileOfSymbol = (symbol: string): DescFile | undefined => {
    const type = registry.get(symbol);
    if (type) return type.file;
    const dot = symbol.lastIndexOf('.');
    const [parent, member] = [registry.get(symbol.slice(0, Math.max(dot, 0))), symbol.slice(dot + 1)];
    const members =
      parent?.kind === 'service' ? parent.methods : parent?.kind === 'message' ? parent.members : undefined;
    return members?.some(({ name }) => name === member) ? parent?.file : undefined;
  };

  return (question, sent) => {
    switch (question.case) {
      case 'listServices':
        return { case: 'listServicesResponse', value: { service: names.map((name) => ({ name })) } };
      case 'fileByFilename':
        return fileAnswer(files.get(question.value), question.value, sent);
      case 'fileContainingSymbol':
        return fileAnswer(fileOfSymbol(question.value), question.value, sent);
      case 'fileContainingExtension': {
        const { containingType, extensionNumber } = question.value;
        const message = registry.getMessage(containingType);
        const extension = message && registry.getExtensionFor(message, extensionNumber);
        return fileAnswer(extension?.file, `extension ${extensionNumber} of ${containingType}`, sent);
      }
      case 'allExtensionNumbersOfType': {
        const extensions = [...registry].filter((type) => type.kind === 'extension');
        return {
          case: 'allExtensionNumbersResponse',
          value: {
            baseTypeName: question.value,
            extensionNumber: extensions
              .filter((extension) => extension.extendee.typeName === question.value)
              .map((extension) => extension.number),
          },
        };
      }
      default:
        return {
          case: 'errorResponse',
          value: { errorCode: Code.InvalidArgument, errorMessage: 'empty request' },
        };
    }
  };
}

/** The protocol allows a stream to leave out files that it has sent. */
function fileAnswer(file: DescFile | undefined, what: string, sent: Set<DescFile>): Answer {
  if (file === undefined) {
    return { case: 'errorResponse', value: { errorCode: Code.NotFound, errorMessage: `${what} not found` } };
  }
  const unsent = withDependencies(file).filter((each) => each === file || !sent.has(each));
  for (const each of unsent) sent.add(each);
  return { case: 'fileDescriptorResponse', value: { fileDescriptorProto: unsent.map(bytesOf) } };
}

/** One stream can request a file many times. */
const encoded = new WeakMap<DescFile, Uint8Array>();

function bytesOf(file: DescFile): Uint8Array {
  let bytes = encoded.get(file);
  if (bytes === undefined) {
    bytes = toBinary(FileDescriptorProtoSchema, file.proto);
    encoded.set(file, bytes);
  }
  return bytes;
}

/** The file, then everything it imports, each once. */
function withDependencies(root: DescFile): DescFile[] {
  const seen = new Map<string, DescFile>();
  const visit = (file: DescFile): void => {
    if (seen.has(file.proto.name)) return;
    seen.set(file.proto.name, file);
    file.dependencies.forEach(visit);
  };
  visit(root);
  return [...seen.values()];
}
