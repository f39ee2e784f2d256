import { fenced } from './fenced-text.ts'

/** What the first line of a webhook's message calls the event. */
export const webhookEventWords = {
  sender: 'an event received at',
  test: 'a trial by the owner at',
  replay: 'an earlier event, given again by the owner at',
} as const

const firstLinePattern = /^\[Webhook "(.*)" \(hook_\w+\): (an event|a trial|an earlier event)\b.*\]\n/

/** Returns the first line of the message that a webhook sends to an agent. Pure. */
export function webhookFirstLine(
  hook: { readonly id: string; readonly name: string },
  event: { readonly way: keyof typeof webhookEventWords; readonly at: number },
): string {
  return `[Webhook "${hook.name}" (${hook.id}): ${webhookEventWords[event.way]} ${new Date(event.at).toISOString()}]`
}

/** Returns the payload of an event as the block in which a webhook's message shows it. Pure. */
export function webhookPayload(payload: string): string {
  return fenced(payload, 'json')
}

/**
 * Describes the message of a run that a webhook started in one line: the hook's name and the payload. Null for any
 * other text. Pure.
 */
export function describeWebhookMessage(message: string): string | null {
  const found = firstLinePattern.exec(message)
  if (found === null) return null
  const [, name = '', way] = found
  const payload = /^(`{3,})json\n([^]*?)\n\1$/m.exec(message)?.[2] ?? ''
  const words = [`Webhook ${name}`, ...(way === 'an event' ? [] : [way === 'a trial' ? 'test' : 'replay'])]
  return `${words.join(', ')}: ${payload.replaceAll(/\s+/g, ' ').trim()}`
}
