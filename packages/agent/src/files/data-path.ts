import { Problem } from '@flotilla/protocol/problem'

const pathMaxChars = 4096

/**
 * The first two of the four path checks, by the text of the path alone: the prefix of the data directory is
 * removed, and `..` is rejected. Pure. Returns the segments below the data directory; none for the directory
 * itself. Problem `path-refused`.
 */
export function toSegments(path: string, dataDirectory: string): readonly string[] {
  if (path.length > pathMaxChars) throw refusal('The path is too long.')
  if (path.includes('\0')) throw refusal('The path contains a null character.')
  const below = stripPrefix(path, ['/data', dataDirectory])
  const segments = below.split('/').filter((segment) => segment !== '' && segment !== '.')
  if (segments.includes('..')) throw refusal('The path contains `..`.')
  return segments
}

function stripPrefix(path: string, prefixes: readonly string[]): string {
  if (!path.startsWith('/')) return path
  for (const prefix of prefixes) {
    if (path === prefix) return ''
    if (path.startsWith(`${prefix}/`)) return path.slice(prefix.length + 1)
  }
  throw refusal('Only paths below /data can be used.')
}

export function refusal(detail: string): Problem {
  return new Problem('path-refused', { detail })
}
