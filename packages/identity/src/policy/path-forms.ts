/** How many forms of a path rules are tested with; `forbiddenForms` and lower case make each of them four readings. */
export const pathFormsMax = 8

/**
 * Returns every form in which a server may read the path of a request: as it is sent, with percent-encoding removed once
 * or several times, because a proxy in front of a server may decode as well, without empty segments, without the
 * parameters of segments (`;v=1`), and with dots resolved. Rules that forbid match any of them and rules that allow must
 * match all, so that no spelling passes a rule that names the plain path. Each form is at most as long as the path, except
 * for a slash. Only a path that is encoded several times can have more than `pathFormsMax` forms; then the forms are not
 * complete, and rules must treat the path as hidden. `forbiddenForms` adds those that only rules that forbid match. Pure.
 */
export function pathForms(path: string): readonly string[] {
  const forms = new Set<string>()
  // Grows while it is read. A server may resolve dots before or after it decodes.
  const levels = new Set([path])
  for (const level of levels) {
    const [joined, resolved] = cleanForms(level)
    for (const form of [level, joined, resolved]) forms.add(form)
    for (const sent of new Set([level, resolved])) {
      const decoded = decodedOnce(sent)
      if (decoded === sent) continue
      levels.add(decoded)
      addWithoutParameters(forms, decoded)
    }
    if (forms.size > pathFormsMax) break
  }
  if (levels.size === 1) addWithoutParameters(forms, path)
  return [...forms]
}

function addWithoutParameters(forms: Set<string>, path: string): void {
  const plain = withoutParameters(path)
  if (plain !== path) forms.add(plain).add(cleanForms(plain)[1])
}

function cleanForms(path: string): readonly [string, string] {
  const joined = withoutEmptySegments(path)
  return [joined, withoutDots(joined)]
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

/** One percent-encoded character in UTF-8, of one byte to four, or in the notation of IIS. */
const encodedCharacter =
  /%u[0-9a-f]{4}|%[0-7][0-9a-f]|%[cd][0-9a-f]%[89ab][0-9a-f]|%e[0-9a-f](?:%[89ab][0-9a-f]){2}|%f[0-7](?:%[89ab][0-9a-f]){3}/gi

/** Decodes each character by itself, because an invalid sequence must not hide the characters beside it. */
function decodedOnce(path: string): string {
  return path.replace(encodedCharacter, (sequence) => {
    if (/^%u/i.test(sequence)) return String.fromCharCode(Number.parseInt(sequence.slice(2), 16))
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
