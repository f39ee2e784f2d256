import { handleFor } from './handles.ts'
import type { CredentialRequest } from './request-table.ts'

/** What the agent that asked is told, in words that say its next step. Pure. */
export function answerText(
  request: CredentialRequest,
  now: { readonly mayUse: boolean; readonly hosts: readonly string[] },
): string {
  const question = `You asked the owner for the credential ${request.name} (${request.service}).`
  switch (request.state) {
    case 'granted':
      return `${question} It is stored now. ${howToUse(request.name, now)} Go on with what you needed it for.`
    case 'denied':
      return `${question} The owner said no${request.reason === '' ? '' : `: ${request.reason}`}. Go on without it, or tell who asked you that it cannot be done.`
    case 'expired':
      return `${question} Nobody answered within the time. Go on without it, or ask again where it still matters.`
    case 'open':
      return `${question} It is not answered yet.`
  }
}

function howToUse(
  name: string,
  now: { readonly mayUse: boolean; readonly hosts: readonly string[] },
): string {
  if (!now.mayUse)
    return 'Your permission record does not list it yet: ask the owner to add it to allowed_credentials.'
  if (now.hosts.length === 0) return 'It is bound to no host yet: ask the owner to bind it.'
  return `Write ${handleFor(name)} in http_request; it is filled in for ${now.hosts.join(', ')}.`
}
