import { createHmac } from 'node:crypto'

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/**
 * Forms of tokens that programs check before they send them. Only the beginning that all tokens of a kind share is
 * taken from the value.
 */
const forms: readonly { readonly begins: RegExp; readonly length: number }[] = [
  { begins: /^gh[opsur]_/, length: 36 },
  { begins: /^github_pat_/, length: 82 },
  { begins: /^npm_/, length: 36 },
  { begins: /^glpat-/, length: 20 },
  { begins: /^pypi-/, length: 160 },
  { begins: /^sk-/, length: 48 },
  { begins: /^xox[abp]-/, length: 48 },
  { begins: /^hf_/, length: 34 },
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
  return begins + lettersOf(secret, `placeholder\n${agentId}\n${name}`, form?.length ?? otherForm.length)
}

/** Letters and digits that only the holder of the secret can compute. */
function lettersOf(secret: string, about: string, length: number): string {
  let text = ''
  for (let block = 0; text.length < length; block++) {
    for (const byte of createHmac('sha256', secret).update(`${about}\n${block}`).digest()) {
      // Larger bytes would make some letters more likely.
      if (byte < letters.length * 4 && text.length < length) text += letters[byte % letters.length] ?? ''
    }
  }
  return text
}
