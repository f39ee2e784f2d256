import * as z from 'zod'

const forms = /^(?:\*\.)?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?$|^[0-9a-fA-F:]+$/
/** An IP address has no names below it. */
const belowAddress = /^\*\.(?:.*\.)?\d+\.?$/

/**
 * An entry of an owner's list of hosts: a host, `*.domain`, or `*`. An entry that can match no host is rejected,
 * because it would silently do nothing.
 */
export const hostPattern = z
  .string()
  .max(253)
  .refine((text) => text === '*' || namesHosts(text), {
    error: 'a host, *.domain for every name below a domain, or * is expected',
  })

/** A host whose TLS the egress proxy ends: like an entry of a list, but never all hosts. */
export const inspectedHost = hostPattern.refine((text) => text !== '*', {
  error: 'name each host, or *.domain for every name below a domain',
})

function namesHosts(text: string): boolean {
  if (!forms.test(text) || belowAddress.test(text)) return false
  const host = text.replace(/^\*\./, '')
  return URL.canParse(`http://${host.includes(':') ? `[${host}]` : host}`)
}
