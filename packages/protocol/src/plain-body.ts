import { Problem } from './problem.ts'

/**
 * Bodies with a content encoding are rejected: a decompressed body could be a thousand times as large, and a
 * compressed one read as plain would be misread. Throws the Problem `unsupported-encoding`.
 */
export function requirePlainBody(headers: { readonly 'content-encoding'?: unknown }): void {
  const encoding = headers['content-encoding']
  if (encoding === undefined || (typeof encoding === 'string' && /^\s*identity\s*$/i.test(encoding))) return
  throw new Problem('unsupported-encoding', { detail: 'the API does not accept compressed bodies' })
}
