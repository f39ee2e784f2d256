import * as z from 'zod'

/** As owners list hosts: a host, `*.domain`, or `*`. */
export const hostPattern = z
  .string()
  .max(253)
  .regex(
    /^(?:\*|(?:\*\.)?[A-Za-z0-9._-]+|[0-9a-fA-F:]+)$/,
    'a host, *.domain for every name below a domain, or * is expected',
  )
