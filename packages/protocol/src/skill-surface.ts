/**
 * What a skill finds around itself. The check refuses a source that names anything else, and the process that runs it
 * takes everything else away.
 */

/** Where `skill` comes from. */
export const skillModule = '@flotilla/skill'

/** These may be imported and nothing else. */
export const skillImports: readonly string[] = [skillModule, 'node:path', 'node:querystring', 'node:url']

/** These names mean something in a skill and nothing else does. */
export const skillGlobals: readonly string[] = `
  Object Array Number String Boolean BigInt Symbol Math JSON Date RegExp Map Set WeakMap WeakSet
  Promise Intl ArrayBuffer DataView Iterator Uint8Array Int8Array Uint16Array Int16Array Uint32Array
  Int32Array Float32Array Float64Array Uint8ClampedArray BigInt64Array BigUint64Array Error
  AggregateError RangeError ReferenceError SyntaxError TypeError URIError parseFloat parseInt isFinite
  isNaN Infinity NaN undefined decodeURI decodeURIComponent encodeURI encodeURIComponent atob btoa URL
  URLSearchParams TextEncoder TextDecoder AbortController AbortSignal structuredClone setTimeout
  clearTimeout queueMicrotask console
`
  .trim()
  .split(/\s+/)

/** The agent's own tools that a skill may call, as functions of `mesh_client`. */
export const skillMeshTools: readonly string[] = [
  'read_blackboard',
  'write_blackboard',
  'list_blackboard',
  'http_request',
  'notify_user',
  'save_artifact',
]
