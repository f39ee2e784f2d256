import type { Endpoint } from '@flotilla/protocol/endpoint'

export interface RouteMatch<Name extends string> {
  readonly name: Name
  /** Path parameters, percent-decoded segment by segment; a `*` parameter holds the rest of the path. */
  readonly params: Readonly<Record<string, string>>
}

/** Finds the endpoint of a request. Pure. The path is matched as sent: `..` and `//` are not normalized. */
export function createRouter<Name extends string>(endpoints: Readonly<Record<Name, Endpoint>>) {
  const names = Object.keys(endpoints) as Name[]
  const routes = names.map((name) => ({ name, ...endpoints[name], parts: endpoints[name].path.split('/') }))
  return (method: string, path: string): RouteMatch<Name> | null => {
    const segments = path.split('/')
    for (const route of routes) {
      if (route.method !== method) continue
      const params = matchSegments(route.parts, segments)
      if (params) return { name: route.name, params }
    }
    return null
  }
}

function matchSegments(parts: readonly string[], segments: readonly string[]): Record<string, string> | null {
  const params: Record<string, string> = {}
  for (const [index, part] of parts.entries()) {
    if (part.startsWith('{*')) {
      const rest = segments.slice(index).map(decode)
      if (rest.length === 0 || rest.includes(null)) return null
      params[part.slice(2, -1)] = rest.join('/')
      return params
    }
    const segment = segments[index]
    if (segment === undefined) return null
    if (!part.startsWith('{')) {
      if (part !== segment) return null
      continue
    }
    const value = decode(segment)
    if (value === null || value === '') return null
    params[part.slice(1, -1)] = value
  }
  return parts.length === segments.length ? params : null
}

/** Decodes a path segment; null for broken escapes and for an escaped slash, which would inject a path. */
function decode(segment: string): string | null {
  if (!segment.includes('%')) return segment
  try {
    const value = decodeURIComponent(segment)
    return value.includes('/') ? null : value
  } catch {
    return null
  }
}
