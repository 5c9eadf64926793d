// Replaces imports of node:http in the bundle. An import reads all exports of that module, also WebSocket, which loads a
// second HTTP client: 2 MB of memory.
module.exports = process.getBuiltinModule('node:http');
