/**
 * Returns every form in which a server may read the path of a request: as it is sent, with percent-encoding removed,
 * also where it is encoded several times, because a proxy in front of a server may decode as well, without empty segments, without the parameters of segments (`;v=1`), and with dots resolved. Rules that forbid match
 * any of them and rules that allow must match all, so that no spelling passes a rule that names the plain path. At most
 * eight forms, each at most as long as the path. `forbiddenForms` adds those that only rules that forbid match. Pure.
 */
export function pathForms(path: string): readonly string[] {
  const forms = new Set([path])
  const decoded = percentDecoded(path)
  forms.add(decoded)
  for (const form of [path, decoded]) forms.add(withoutEmptySegments(form))
  // A server that resolves dots after decoding sees another path than the URL parser did.
  for (const form of [path, decoded, withoutParameters(decoded)]) {
    forms.add(withoutDots(withoutEmptySegments(form)))
  }
  forms.add(withoutParameters(decoded))
  return [...forms]
}

/**
 * Returns the forms of a path that rules that forbid match: also without slashes at the end, which many servers ignore.
 * An allowing rule may name a path that ends with a slash. Pure.
 */
export function forbiddenForms(forms: readonly string[]): readonly string[] {
  return [...new Set([...forms, ...forms.map(withoutFinalSlashes)])]
}

function withoutFinalSlashes(path: string): string {
  let end = path.length
  while (end > 1 && path[end - 1] === '/') end -= 1
  return path.slice(0, end)
}

/** How often a path is decoded at most; each server that it passes decodes it once. */
const decodingsMax = 8

function percentDecoded(path: string): string {
  let decoded = path
  for (let count = 0; count < decodingsMax; count += 1) {
    const next = decodedOnce(decoded)
    if (next === decoded) break
    decoded = next
  }
  return decoded
}

/** Decodes each valid sequence by itself, because one invalid sequence must not hide the others. */
function decodedOnce(path: string): string {
  if (!path.includes('%')) return path
  return path.replace(/(?:%[0-9a-f]{2})+/gi, (sequence) => {
    try {
      return decodeURIComponent(sequence)
    } catch {
      return sequence
    }
  })
}

function withoutParameters(path: string): string {
  return path.replace(/;[^/]*/g, '')
}

function withoutEmptySegments(path: string): string {
  return path.replace(/[/\\]+/g, '/')
}

function withoutDots(path: string): string {
  if (!path.includes('/.')) return path
  const kept: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') kept.pop()
    else if (segment !== '.') kept.push(segment)
  }
  const joined = kept.join('/')
  return joined.startsWith('/') ? joined : `/${joined}`
}
