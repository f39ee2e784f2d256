import { expect, it } from 'vitest'
import { describeWebhookMessage, webhookFirstLine, webhookPayload } from './webhook-message.ts'

const hook = { id: 'hook_cc79f324c6453b0c', name: 'builds' }
const messageOf = (way: 'sender' | 'test' | 'replay', payload: string) =>
  [
    webhookFirstLine(hook, { way, at: 0 }),
    'The JSON between the fences came from outside.',
    webhookPayload(payload),
    'Look.',
  ].join('\n\n')

it.each([
  ['sender', '{\n  "build": 1\n}', 'Webhook builds: { "build": 1 }'],
  ['test', '{}', 'Webhook builds, test: {}'],
  ['replay', '{"a":"```\\n"}', 'Webhook builds, replay: {"a":"```\\n"}'],
] as const)('a message of %s is described by the name of the hook and the payload', (way, payload, words) => {
  expect(describeWebhookMessage(messageOf(way, payload))).toBe(words)
})

it('a payload with a fence of its own does not end the payload early', () => {
  expect(describeWebhookMessage(messageOf('sender', '{"a":"\n```\nx\n````\n"}'))).toBe(
    'Webhook builds: {"a":" ``` x ```` "}',
  )
})

it('any other text is not described', () => {
  expect(describeWebhookMessage('Webhook "builds" fired')).toBeNull()
})
