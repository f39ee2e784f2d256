/**
 * The method and path that a rule decides about: null, which is hidden, if a header or the query may replace it at the
 * server. Some servers read `_` in names of headers as `-`. `headers` has names, or names and values in turn. A form in
 * the body may name a method as well; the decision is made before the body is read. Pure.
 */
export function decidedRequest(
  request: { readonly method: string; readonly path: string; readonly query: string },
  headers: readonly string[],
): { readonly method: string | null; readonly path: string | null } {
  const names = headers.map((name) => name.replaceAll('_', '-'))
  return {
    method:
      names.some((name) => methodHeader.test(name)) || namesMethod(request.query)
        ? null
        : request.method.toUpperCase(),
    path: names.some((name) => pathHeader.test(name)) ? null : request.path,
  }
}

const methodHeader = /^x-(?:http-)?(?:method|verb)(?:-override)?$/i

/** Frameworks take the method from a parameter of this name, or from one with the name of the header. */
function namesMethod(query: string): boolean {
  if (!/method|verb|%/i.test(query)) return false
  const names = [...new URLSearchParams(query.replaceAll(';', '&')).keys()].map(phpName)
  return names.some((name) => /^_method$/i.test(name) || methodHeader.test(name.replaceAll('_', '-')))
}

/**
 * The name of a parameter as PHP reads it: without blanks before it, up to a zero byte, and with `_` for a dot, a blank
 * and an open bracket.
 */
function phpName(name: string): string {
  const [read = ''] = name.trimStart().split('\0')
  return read.replaceAll(/[ .[]/g, '_')
}

/** Servers behind a rewriting proxy take the path from these, such as those of IIS and of Symfony. */
const pathHeader = /^x-(?:original|rewrite|override)-(?:url|uri|path)$/i
