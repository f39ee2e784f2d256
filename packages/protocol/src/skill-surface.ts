/**
 * The modules and names that a skill may use. The check rejects sources with any others, and the process that runs a
 * skill removes all others.
 */

/** The module that exports `skill`. */
export const skillModule = '@flotilla/skill'

/** The only modules that a skill may import. */
export const skillImports: readonly string[] = [skillModule, 'node:path', 'node:querystring', 'node:url']

/** The only global names that a skill may use. */
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
