/**
 * Names that a skill may not use, each with what it would give access to. This is feedback for the author and a first
 * defense: the isolation boundary is the unprivileged process in which a skill runs.
 */

/** Modules, by any segment of their specifier, with and without `node:` (limits:skill-validator:imports). */
export const forbiddenImports: Readonly<Record<string, string>> = {
  child_process: 'runs programs',
  fs: 'reads and writes files past the path checks',
  os: 'tells about the host and signals processes',
  process: 'holds the environment, exit and the way to every module',
  module: 'loads modules and hooks their loading',
  vm: 'runs text as code',
  worker_threads: 'starts threads outside the bounds',
  cluster: 'forks the process',
  net: 'opens sockets past the outbound filter',
  dgram: 'sends datagrams past the outbound filter',
  tls: 'opens sockets past the outbound filter',
  http: 'sends requests past the outbound filter',
  https: 'sends requests past the outbound filter',
  http2: 'sends requests past the outbound filter',
  dns: 'sends queries past the outbound filter',
  v8: 'takes heap snapshots and revives objects',
  inspector: 'debugs the process, which is full control of it',
  repl: 'evaluates text',
  tty: 'holds the terminal',
  wasi: 'makes system calls',
  async_hooks: 'observes the calls of other code',
  diagnostics_channel: 'observes the events of the process',
  sqlite: 'opens any file and loads extensions',
}

/** Functions, by bare name or as a member, called or only passed on (limits:skill-validator:calls). */
export const forbiddenCalls: Readonly<Record<string, string>> = {
  eval: 'runs text as code',
  Function: 'runs text as code',
  require: 'loads modules',
  import: 'loads modules whose name is known only when it runs',
  createRequire: 'loads modules',
  getBuiltinModule: 'loads modules',
  binding: 'reaches into the engine',
  dlopen: 'loads native code',
  runInThisContext: 'runs text as code',
  compileFunction: 'runs text as code',
  getPrototypeOf: 'reads the prototype that all objects share',
  setPrototypeOf: 'changes what an object is',
  defineProperty: 'changes objects without their users noticing',
  getOwnPropertyDescriptor: 'takes accessors out of objects',
  getOwnPropertyNames: 'lists what is hidden',
  instantiate: 'runs native-like code',
}

/** Properties, in any spelling of the access (limits:skill-validator:attributes). */
export const forbiddenAttributes: Readonly<Record<string, string>> = {
  constructor: 'leads from any value to the function that runs text as code',
  // Computed, because a plain `__proto__` key would set this object's prototype.
  ['__proto__']: 'leads to the prototype that all objects share',
  prototype: 'changes the prototype that all objects share',
  __defineGetter__: 'puts code behind a property',
  __defineSetter__: 'puts code behind a property',
  __lookupGetter__: 'takes accessors out of objects',
  __lookupSetter__: 'takes accessors out of objects',
  caller: 'reaches the code that called',
  callee: 'reaches the function itself',
  mainModule: 'loads modules',
  env: 'holds the environment of the process',
}

/** Names similar to those in `forbiddenCalls`, which a skill may not use either. */
export const forbiddenRelatives: Readonly<Record<string, string>> = {
  defineProperties: 'changes objects without their users noticing',
  getOwnPropertyDescriptors: 'takes accessors out of objects',
  getOwnPropertySymbols: 'lists what is hidden',
  prepareStackTrace: 'puts code behind every error',
  captureStackTrace: 'puts code behind every error',
}
