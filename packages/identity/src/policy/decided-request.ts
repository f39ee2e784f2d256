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

/**
 * Frameworks and the APIs of Salesforce and Google take the method from a parameter with one of these names, or with that
 * of the header.
 */
const methodParameter = /^[_$](?:http)?method$/i
/** Facebook takes it from this one, which elsewhere names something else, so its value must be a method. */
const plainParameter = /^(?:http)?method$/i
const method = /^(?:get|head|post|put|patch|delete|options)$/i

function namesMethod(query: string): boolean {
  if (!/method|verb|%/i.test(query)) return false
  return [...new URLSearchParams(query.replaceAll(';', '&'))].some(([given, value]) => {
    const name = phpName(given)
    return (
      methodParameter.test(name) ||
      methodHeader.test(name.replaceAll('_', '-')) ||
      (plainParameter.test(name) && method.test(value.trim()))
    )
  })
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
