import { stripTypeScriptTypes } from 'node:module'

/**
 * A source without its types, with lines and columns as they were. Throws a SyntaxError. Node says at the first use that
 * this function of its own is experimental; the log of a mesh is no place for that, so it is kept from saying it.
 */
export function javascriptOf(source: string): string {
  const { emitWarning } = process
  process.emitWarning = () => undefined
  try {
    return stripTypeScriptTypes(source)
  } finally {
    process.emitWarning = emitWarning
  }
}
