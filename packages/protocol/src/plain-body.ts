import { Problem } from './problem.ts'

/**
 * An API takes bodies as they are: what one would unpack could be a thousand times as large as what came, and what it would
 * take for plain would be read otherwise than it was meant. Throws the Problem `unsupported-encoding`.
 */
export function requirePlainBody(headers: { readonly 'content-encoding'?: unknown }): void {
  const encoding = headers['content-encoding']
  if (encoding === undefined || (typeof encoding === 'string' && /^\s*identity\s*$/i.test(encoding))) return
  throw new Problem('unsupported-encoding', { detail: 'no packed body is taken here' })
}
