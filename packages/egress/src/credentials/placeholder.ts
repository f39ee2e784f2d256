import { createHmac } from 'node:crypto'

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
/** The letters of an AWS access key id. */
const capitals = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/**
 * Forms of tokens that programs check before they send them. Only the beginning that all tokens of a kind share is
 * taken from the value.
 */
const forms: readonly { readonly begins: RegExp; readonly length: number; readonly of?: string }[] = [
  { begins: /^gh[opsur]_/, length: 36 },
  { begins: /^github_pat_/, length: 82 },
  { begins: /^npm_/, length: 36 },
  { begins: /^glpat-/, length: 20 },
  { begins: /^pypi-/, length: 160 },
  { begins: /^sk-/, length: 48 },
  { begins: /^xox[abp]-/, length: 48 },
  { begins: /^hf_/, length: 34 },
  { begins: /^(?:AKIA|ASIA)(?=[A-Z0-9]{16}$)/, length: 16, of: capitals },
  // The secret of an AWS access key has no beginning of its own.
  { begins: /^(?=[A-Za-z0-9/+]{40}$)/, length: 40 },
]
const otherForm = { begins: 'flotilla_', length: 40 }

/**
 * Returns the placeholder of a credential in the container of one agent. It has the form of the value, depends
 * on the secret of the mesh, the agent and the name of the credential, and is worth nothing outside of the mesh. Pure.
 */
export function placeholderFor(
  secret: string,
  { agentId, name, value }: { readonly agentId: string; readonly name: string; readonly value: string },
): string {
  const form = forms.find(({ begins }) => begins.test(value))
  const begins = form?.begins.exec(value)?.[0] ?? otherForm.begins
  return (
    begins +
    lettersOf(`placeholder\n${agentId}\n${name}`, {
      secret,
      length: form?.length ?? otherForm.length,
      of: form?.of ?? letters,
    })
  )
}

/** Characters of an alphabet that only the holder of the secret can compute. */
function lettersOf(
  about: string,
  { secret, length, of }: { readonly secret: string; readonly length: number; readonly of: string },
): string {
  // Larger bytes would make some letters more likely.
  const end = 256 - (256 % of.length)
  let text = ''
  for (let block = 0; text.length < length; block++) {
    for (const byte of createHmac('sha256', secret).update(`${about}\n${block}`).digest())
      if (byte < end && text.length < length) text += of[byte % of.length] ?? ''
  }
  return text
}
