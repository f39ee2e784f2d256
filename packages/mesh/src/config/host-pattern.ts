import * as z from 'zod'

const forms = /^(?:\*\.)?[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?$|^[0-9a-fA-F:]+$/
/** Below an address there are no names. */
const belowAddress = /^\*\.(?:.*\.)?\d+\.?$/

/** As owners list hosts: a host, `*.domain`, or `*`. An entry that could name no host is refused: it would do nothing, unsaid. */
export const hostPattern = z
  .string()
  .max(253)
  .refine((text) => text === '*' || namesHosts(text), {
    error: 'a host, *.domain for every name below a domain, or * is expected',
  })

function namesHosts(text: string): boolean {
  if (!forms.test(text) || belowAddress.test(text)) return false
  const host = text.replace(/^\*\./, '')
  return URL.canParse(`http://${host.includes(':') ? `[${host}]` : host}`)
}
