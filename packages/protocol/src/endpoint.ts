import type * as z from 'zod/mini'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** An endpoint as a value: the server binds it, the client calls it, a test walks the list. */
export interface Endpoint {
  readonly method: Method
  /** Path parameters in braces: `/api/runs/{id}`. */
  readonly path: string
  /**
   * One or two sentences for docs/reference/endpoints.md: what the call does, in the imperative, and what it returns.
   */
  readonly summary: string
}

export interface EndpointSchemas {
  readonly request?: z.core.$ZodType
  readonly query?: z.core.$ZodType
  readonly response?: z.core.$ZodType
}

/** Fills the braces of a path; every value is percent-encoded, and `*` parameters keep their slashes. */
export function fillPath(path: string, params: Readonly<Record<string, string>>): string {
  return path.replace(/\{(\*?)(\w+)\}/g, (_whole, star: string, name: string) => {
    const value = params[name]
    if (value === undefined) throw new Error(`path parameter ${name} is missing`)
    return star === '*' ? value.split('/').map(encodeURIComponent).join('/') : encodeURIComponent(value)
  })
}
