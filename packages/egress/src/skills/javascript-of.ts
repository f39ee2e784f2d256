import { stripTypeScriptTypes } from 'node:module'

/**
 * Returns a source without its types, with unchanged lines and columns. Throws a SyntaxError. Node's warning about
 * its own experimental function is suppressed, because it does not belong in a mesh's log.
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
